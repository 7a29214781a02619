"""ksp1 as the contract has it: envelopes, keys, what ties one part of a request to another.

Written from the contract and the decisions that fill its gaps, beside an implementation that it shares nothing with.
It needs the package `cryptography`.
"""

import base64
import hashlib
import hmac
import json
import os
import re

import cryptography
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

VERSION = "ksp1"
ALG = "RSA-OAEP-256"
ENC = "A256GCM"
KEY_ALG = "RSA-OAEP-256/A256GCM"
LARGEST_CIPHERTEXT = 1024 * 1024
BINDING = "ksp1-bind.v1."
OAEP = padding.OAEP(mgf=padding.MGF1(hashes.SHA256()), algorithm=hashes.SHA256(), label=None)


class Refused(Exception):
    """Says which rule was broken. Only for whoever holds the key."""


def to_base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def from_base64url(text):
    """With or without its padding; no stray characters, no bits left over."""
    if isinstance(text, str) and len(text) % 4 == 0:
        text = re.sub("={1,2}$", "", text)
    if not isinstance(text, str) or not re.fullmatch(r"[A-Za-z0-9_-]*", text) or len(text) % 4 == 1:
        raise Refused("not base64url")
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if to_base64url(data) != text:
        raise Refused("bits are left over")
    return data


def sha256(data):
    return to_base64url(hashlib.sha256(data).digest())


# Keys


def new_key(bits=2048):
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def private_pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode("ascii")


def public_pem(key, form=serialization.PublicFormat.SubjectPublicKeyInfo):
    return key.public_bytes(serialization.Encoding.PEM, form).decode("ascii")


def spki(key):
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def read_public_key(pem):
    return serialization.load_pem_public_key(pem.encode("ascii"))


def read_private_key(pem):
    """For keys of the tests: to look whether their primes are prime takes as long as to make them."""
    knows = int(cryptography.__version__.split(".")[0]) >= 39
    options = {"unsafe_skip_rsa_key_validation": True} if knows else {}
    return serialization.load_pem_private_key(pem.encode("ascii"), None, **options)


def fingerprint(key):
    return "SHA256:" + sha256(spki(key))


# Envelopes


def seal_bytes(public_key, plaintext, aad=None, key_id=None):
    content_key = AESGCM.generate_key(bit_length=256)
    iv = os.urandom(12)
    sealed = AESGCM(content_key).encrypt(iv, plaintext, aad)
    envelope = {"v": VERSION, "alg": ALG, "enc": ENC}
    if key_id is not None:
        envelope["key_id"] = key_id
    envelope["encrypted_key"] = to_base64url(public_key.encrypt(content_key, OAEP))
    envelope["iv"] = to_base64url(iv)
    envelope["ciphertext"] = to_base64url(sealed[:-16])
    envelope["tag"] = to_base64url(sealed[-16:])
    if aad is not None:
        envelope["aad"] = to_base64url(aad)
    return envelope


def seal(public_key, message, aad=None, key_id=None):
    return seal_bytes(public_key, json.dumps(message, ensure_ascii=False).encode("utf-8"), aad, key_id)


def open_envelope(private_key, envelope, largest=LARGEST_CIPHERTEXT):
    """The object inside and the aad, or Refused."""
    if not isinstance(envelope, dict):
        raise Refused("not an object")
    for name in ("v", "alg", "enc", "encrypted_key", "iv", "ciphertext", "tag"):
        if name not in envelope:
            raise Refused(f"{name} is absent")
    if (envelope["v"], envelope["alg"], envelope["enc"]) != (VERSION, ALG, ENC):
        raise Refused("another version or algorithm")
    if "key_id" in envelope and not isinstance(envelope["key_id"], str):
        raise Refused("key_id is no string")
    encrypted_key = from_base64url(envelope["encrypted_key"])
    iv = from_base64url(envelope["iv"])
    ciphertext = from_base64url(envelope["ciphertext"])
    tag = from_base64url(envelope["tag"])
    aad = from_base64url(envelope["aad"]) if "aad" in envelope else None
    if len(encrypted_key) != private_key.key_size // 8:
        raise Refused("encrypted_key is not of the key's size")
    if len(iv) != 12 or len(tag) != 16:
        raise Refused("iv is not 12 bytes or tag not 16")
    if len(ciphertext) > largest:
        raise Refused("ciphertext is too long")
    try:
        content_key = private_key.decrypt(encrypted_key, OAEP)
    except ValueError:
        raise Refused("encrypted_key does not open") from None
    if len(content_key) != 32:
        raise Refused("the content key is not 32 bytes")
    try:
        plaintext = AESGCM(content_key).decrypt(iv, ciphertext + tag, aad)
    except InvalidTag:
        raise Refused("the tag does not verify") from None
    try:
        message = json.loads(plaintext.decode("utf-8"), parse_constant=refuse_constant)
    except ValueError:
        raise Refused("the plaintext is not JSON") from None
    if not isinstance(message, dict):
        raise Refused("the plaintext is not an object")
    return message, aad


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


# What ties the parts of a request together


def envelope_hash(envelope):
    members = ("encrypted_key", "iv", "ciphertext", "tag", "aad")
    return sha256(".".join(envelope.get(name, "") for name in members).encode("ascii"))


def payload_binding(client_uuid, challenge_id):
    """The aad of a data_envelope or query_envelope."""
    return f"{BINDING}{client_uuid}.{challenge_id}".encode("ascii")


def auth_binding(data_envelope=None, query_envelope=None, recipient_public_key=None, new_client_public_key=None):
    """The aad of an auth_envelope: a hash of all that goes with it."""
    parts = (
        ("data_envelope", data_envelope and envelope_hash(data_envelope)),
        ("query_envelope", query_envelope and envelope_hash(query_envelope)),
        ("recipient_public_key", recipient_public_key and sha256(spki(recipient_public_key))),
        ("new_client_public_key", new_client_public_key and sha256(spki(new_client_public_key))),
    )
    lines = "".join(f"{name}={value}\n" for name, value in parts if value is not None)
    return (BINDING + sha256(lines.encode("ascii"))).encode("ascii")


def result_proof(nonce, request_id, result_envelope):
    text = f"ksp1-result.v1.{request_id}.{envelope_hash(result_envelope)}"
    return to_base64url(hmac.new(from_base64url(nonce), text.encode("ascii"), hashlib.sha256).digest())
