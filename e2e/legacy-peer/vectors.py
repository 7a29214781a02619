"""Prints protocol/vectors/envelope-v1.json: `vectors.py > ../../protocol/vectors/envelope-v1.json`.

Keys, content keys and ivs are new with every run, so run it only when the form changes. The private keys are there to
be known: they guard nothing.
"""

import base64
import json
import os

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import ksp1

CLIENT = "3f0e5a52-9c1b-4a6e-8f57-2d7f1f6f9d11"
CHALLENGE = "b7a1c9de-6a34-4f0c-9a50-0c1f5f1f8a02"
REQUEST = "5d6f9c1e-27f4-4f3b-9c66-7e2f0e1b3c44"
MESSAGE = {"v": "ksp1", "type": "kv.read", "namespace": "vectors", "keys": ["a"]}
TEXT = json.dumps(MESSAGE)


def key_entry(key):
    public = key.public_key()
    return {
        "private_key": ksp1.private_pem(key),
        "public_key": ksp1.public_pem(public),
        "fingerprint": ksp1.fingerprint(public),
    }


def opened(name, whose, key, plaintext, aad=None, key_id=None):
    envelope = ksp1.seal_bytes(key.public_key(), plaintext.encode("utf-8"), aad, key_id)
    message, found = ksp1.open_envelope(key, envelope)
    assert message == json.loads(plaintext) and found == aad
    return {
        "name": name,
        "key": whose,
        "envelope": envelope,
        "plaintext": plaintext,
        "aad": None if aad is None else aad.decode("utf-8"),
        "hash": ksp1.envelope_hash(envelope),
    }


def refused(name, key, envelope):
    try:
        ksp1.open_envelope(key, envelope)
    except ksp1.Refused as reason:
        return {"name": name, "reason": str(reason), "envelope": envelope}
    raise AssertionError(f"{name}: opened")


def flipped(text, at):
    """One bit of one byte is another."""
    data = bytearray(ksp1.from_base64url(text))
    data[at] ^= 1
    return ksp1.to_base64url(bytes(data))


def with_content_key(key, content_key, oaep=ksp1.OAEP):
    """An envelope whose content key is of another length, or encrypted in another way."""
    iv = os.urandom(12)
    usable = content_key if len(content_key) in (16, 24, 32) else content_key[:32]
    sealed = AESGCM(usable).encrypt(iv, TEXT.encode(), None)
    return {
        "v": "ksp1",
        "alg": "RSA-OAEP-256",
        "enc": "A256GCM",
        "encrypted_key": ksp1.to_base64url(key.public_key().encrypt(content_key, oaep)),
        "iv": ksp1.to_base64url(iv),
        "ciphertext": ksp1.to_base64url(sealed[:-16]),
        "tag": ksp1.to_base64url(sealed[-16:]),
    }


def changes(good, bound):
    """Every member absent, of another type, in another writing, of another length, or with another bit."""
    for name in ("v", "alg", "enc", "encrypted_key", "iv", "ciphertext", "tag"):
        yield f"without {name}", {member: value for member, value in good.items() if member != name}
        yield f"{name} is null", {**good, name: None}
    yield "v of another version", {**good, "v": "ksp2"}
    yield "v in capitals", {**good, "v": "KSP1"}
    yield "alg with SHA-1", {**good, "alg": "RSA-OAEP"}
    yield "enc of 128 bits", {**good, "enc": "A128GCM"}
    yield "key_id is a number", {**good, "key_id": 1}
    for name in ("encrypted_key", "iv", "ciphertext", "tag"):
        yield f"{name} with a bit flipped", {**good, name: flipped(good[name], -1)}
        yield f"{name} is empty", {**good, name: ""}
        yield f"{name} with too much padding", {**good, name: good[name] + "==="}
        yield f"{name} with a line break", {**good, name: good[name] + "\n"}
        yield f"{name} one byte longer", {**good, name: ksp1.to_base64url(ksp1.from_base64url(good[name]) + b"\0")}
        yield f"{name} one byte shorter", {**good, name: ksp1.to_base64url(ksp1.from_base64url(good[name])[:-1])}
    standard = base64.b64encode(ksp1.from_base64url(good["encrypted_key"])).decode("ascii")
    yield "encrypted_key in the other alphabet", {**good, "encrypted_key": standard}
    tag = good["tag"]
    yield "tag with bits left over", {**good, "tag": tag[:-1] + chr(ord(tag[-1]) + 1)}
    yield "tag of 12 bytes", {**good, "tag": ksp1.to_base64url(ksp1.from_base64url(tag)[:12])}
    yield "iv of 16 bytes", {**good, "iv": ksp1.to_base64url(ksp1.from_base64url(good["iv"]) + bytes(4))}
    yield "an aad put in", {**good, "aad": ksp1.to_base64url(b"anything")}
    yield "an aad taken out", {name: value for name, value in bound.items() if name != "aad"}
    yield "an aad of another", {**bound, "aad": ksp1.to_base64url(ksp1.payload_binding(CLIENT, REQUEST))}
    yield "aad is null", {**good, "aad": None}
    yield "aad with too much padding", {**bound, "aad": bound["aad"] + "==="}
    yield "the ciphertext of another", {**good, "ciphertext": bound["ciphertext"]}


def refusals(service, other):
    public = service.public_key()
    good = ksp1.seal_bytes(public, TEXT.encode())
    bound = ksp1.seal_bytes(public, TEXT.encode(), ksp1.payload_binding(CLIENT, CHALLENGE))
    for name, envelope in changes(good, bound):
        yield refused(name, service, envelope)
    for name, envelope in (("an array", [good]), ("a string", json.dumps(good)), ("null", None)):
        yield refused(name, service, envelope)
    yield refused("sealed to another key of that size", service, ksp1.seal_bytes(other.public_key(), TEXT.encode()))
    yield refused("a content key of 128 bits", service, with_content_key(service, os.urandom(16)))
    yield refused("a content key of 33 bytes", service, with_content_key(service, os.urandom(33)))
    sha1 = padding.OAEP(mgf=padding.MGF1(hashes.SHA1()), algorithm=hashes.SHA1(), label=None)
    yield refused("OAEP with SHA-1", service, with_content_key(service, os.urandom(32), sha1))
    mixed = padding.OAEP(mgf=padding.MGF1(hashes.SHA1()), algorithm=hashes.SHA256(), label=None)
    yield refused("OAEP with MGF1 of SHA-1", service, with_content_key(service, os.urandom(32), mixed))
    labelled = padding.OAEP(mgf=padding.MGF1(hashes.SHA256()), algorithm=hashes.SHA256(), label=b"ksp1")
    yield refused("OAEP with a label", service, with_content_key(service, os.urandom(32), labelled))
    yield refused("PKCS#1 v1.5", service, with_content_key(service, os.urandom(32), padding.PKCS1v15()))
    insides = {
        "no JSON": b"{",
        "nothing inside": b"",
        "an array inside": b"[1]",
        "a string inside": b'"text"',
        "null inside": b"null",
        "no UTF-8 inside": b'{"a":"\xff"}',
        "NaN inside": b'{"a":NaN}',
        "something after the object": b"{}{}",
    }
    for name, plaintext in insides.items():
        yield refused(name, service, ksp1.seal_bytes(public, plaintext))


def openings(service, client):
    yield opened("a plain one", "service", service, TEXT)
    yield opened("with a key_id", "service", service, TEXT, key_id="any name")
    yield opened("with an aad that means nothing", "service", service, TEXT, b"anything at all")
    yield opened("bound to a client and a challenge", "service", service, TEXT, ksp1.payload_binding(CLIENT, CHALLENGE))
    yield opened("an empty object", "service", service, "{}")
    text = json.dumps({"ключ": "🔑", "text": "line\nline\u2028", "numbers": [0, -1.5, 1e21]}, ensure_ascii=False)
    yield opened("of more than ASCII", "service", service, text)
    yield opened("sealed to a key of 2048 bits", "client", client, TEXT)
    challenge = {
        "v": "ksp1",
        "type": "challenge",
        "purpose": "authai.operation",
        "client_uuid": CLIENT,
        "challenge_id": CHALLENGE,
        "nonce": ksp1.to_base64url(bytes(range(32))),
        "issued_at": "2026-11-16T12:00:00.000Z",
        "expires_at": "2026-11-16T12:05:00.000Z",
    }
    yield opened("a challenge", "client", client, json.dumps(challenge))


def public_keys(client):
    """The same key in other writings, and what is no key for us."""
    public = client.public_key()
    pem = ksp1.public_pem(public)
    taken = {
        "as SPKI": pem,
        "as PKCS#1": ksp1.public_pem(public, serialization.PublicFormat.PKCS1),
        "with CRLF": pem.replace("\n", "\r\n"),
        "without the last line break": pem.rstrip("\n"),
        "with space around it": f"\n  {pem}\n",
    }
    parameters = {"public_exponent": 3, "key_size": 2048}
    refusals = {
        "of 1024 bits": ksp1.public_pem(rsa.generate_private_key(65537, 1024).public_key()),
        "of 8192 bits": ksp1.public_pem(rsa.RSAPublicNumbers(65537, (1 << 8191) + 1).public_key()),
        "with the exponent 3": ksp1.public_pem(rsa.generate_private_key(**parameters).public_key()),
        "with an exponent of 33 bits": ksp1.public_pem(
            rsa.RSAPublicNumbers((1 << 32) + 1, public.public_numbers().n).public_key()
        ),
        "of an elliptic curve": ksp1.public_pem(ec.generate_private_key(ec.SECP256R1()).public_key()),
        "a private key": ksp1.private_pem(client),
        "cut off": pem[:200],
        "no PEM": "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ",
        "nothing": "",
    }
    return {
        "accepted": [{"name": name, "pem": text} for name, text in taken.items()],
        "normalized": pem,
        "fingerprint": ksp1.fingerprint(public),
        "refused": [{"name": name, "pem": text} for name, text in refusals.items()],
    }


def ties(service, client):
    tie = ksp1.payload_binding(CLIENT, CHALLENGE)
    data = ksp1.seal_bytes(service.public_key(), TEXT.encode(), tie)
    query = ksp1.seal_bytes(service.public_key(), TEXT.encode(), tie)
    public = client.public_key()
    cases = {
        "nothing goes with it": {},
        "data_envelope": {"data_envelope": data},
        "query_envelope": {"query_envelope": query},
        "query_envelope and recipient_public_key": {"query_envelope": query, "recipient_public_key": public},
        "new_client_public_key": {"new_client_public_key": public},
    }
    as_sent = lambda part: part if isinstance(part, dict) else ksp1.public_pem(part)
    return {
        "payload_aad": {"client_uuid": CLIENT, "challenge_id": CHALLENGE, "aad": tie.decode()},
        "auth_aad": [
            {
                "name": name,
                "parts": {part: as_sent(value) for part, value in parts.items()},
                "aad": ksp1.auth_binding(**parts).decode(),
            }
            for name, parts in cases.items()
        ],
    }


def proof(client):
    nonce = ksp1.to_base64url(bytes(range(32)))
    envelope = ksp1.seal(client.public_key(), {"v": "ksp1", "type": "kv.read.result", "items": [], "missing": ["a"]})
    return {
        "nonce": nonce,
        "request_id": REQUEST,
        "result_envelope": envelope,
        "result_proof": ksp1.result_proof(nonce, REQUEST, envelope),
    }


def main():
    service, other, client = ksp1.new_key(3072), ksp1.new_key(3072), ksp1.new_key(2048)
    vectors = {
        "keys": {"service": key_entry(service), "client": key_entry(client)},
        "opened": list(openings(service, client)),
        "refused": list(refusals(service, other)),
        "public_keys": public_keys(client),
        "binding": ties(service, client),
        "result_proof": proof(client),
    }
    print(json.dumps(vectors, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
