"""A client backend that speaks v1 to the service at an address, and trusts a service key that it was told beforehand."""

import datetime
import hmac
import json
import urllib.error
import urllib.request
import uuid

import ksp1


class Answered(Exception):
    """The service said no, with a status and a code."""

    def __init__(self, status, code):
        super().__init__(f"{status} {code}")
        self.status = status
        self.code = code


def call(method, url, body=None):
    data = None if body is None else json.dumps(body).encode("utf-8")
    request = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        with refusal:
            raise Answered(refusal.code, json.load(refusal)["error"]["code"]) from None


def timestamp(moment):
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Client:
    def __init__(self, base, pinned_fingerprint, key):
        self.base = base
        self.key = key
        _, published = call("GET", f"{base}/v1/authai/public-key")
        self.service_key = ksp1.read_public_key(published["authai_public_key"])
        if ksp1.fingerprint(self.service_key) != pinned_fingerprint:
            raise ValueError("the service's key is not the one that was pinned")
        self.service_key_id = published["authai_key_id"]
        self.client_uuid = None
        self.challenge = None

    def keep_challenge(self, answer):
        """Opens the next challenge with the active key, and looks whether it is what the answer says around it."""
        challenge, _ = ksp1.open_envelope(self.key, answer["challenge_for_client"])
        said = {name: challenge[name] for name in ("v", "type", "purpose", "client_uuid", "challenge_id", "expires_at")}
        expected = {
            "v": "ksp1",
            "type": "challenge",
            "purpose": "authai.operation",
            "client_uuid": answer["client_uuid"],
            "challenge_id": answer["challenge_id"],
            "expires_at": answer["expires_at"],
        }
        if said != expected or len(ksp1.from_base64url(challenge["nonce"])) != 32:
            raise ValueError("the challenge is not what the answer says of it")
        if self.client_uuid not in (None, answer["client_uuid"]):
            raise ValueError("the answer is for another client")
        self.client_uuid = answer["client_uuid"]
        self.challenge = challenge

    def register(self, **about):
        body = {"client_public_key": ksp1.public_pem(self.key.public_key()), "client_key_alg": ksp1.KEY_ALG, **about}
        status, answer = call("POST", f"{self.base}/v1/authai/register", body)
        told = ksp1.fingerprint(ksp1.read_public_key(answer["authai_public_key"]))
        if status != 201 or told != ksp1.fingerprint(self.service_key):
            raise ValueError("the answer to a registration is not what it should be")
        self.keep_challenge(answer)

    def auth_payload(self, action, **changes):
        now = datetime.datetime.now(datetime.timezone.utc)
        return {
            "v": "ksp1",
            "type": "auth",
            "action": action,
            "client_uuid": self.client_uuid,
            "challenge_id": self.challenge["challenge_id"],
            "request_id": str(uuid.uuid4()),
            "nonce": self.challenge["nonce"],
            "issued_at": timestamp(now),
            "expires_at": timestamp(now + datetime.timedelta(minutes=1)),
            **changes,
        }

    def seal(self, message, aad=None):
        return ksp1.seal(self.service_key, message, aad, self.service_key_id)

    def payload(self, message, is_bound=True):
        tie = ksp1.payload_binding(self.client_uuid, self.challenge["challenge_id"])
        return self.seal(message, tie if is_bound else None)

    def operate(self, path, payload, aad, body):
        """One authenticated call. What is answered holds the next challenge, sealed to the key that is then active."""
        status, answer = call("POST", self.base + path, {"auth_envelope": self.seal(payload, aad), **body})
        if status != 200:
            raise ValueError(f"{path} was answered {status}")
        return answer

    def refresh(self):
        answer = self.operate("/v1/authai/refresh", self.auth_payload("authai.refresh"), ksp1.auth_binding(), {})
        self.keep_challenge(answer)

    def rotate(self, new_key, **about):
        body = {
            "new_client_public_key": ksp1.public_pem(new_key.public_key()),
            "new_client_key_alg": ksp1.KEY_ALG,
            **about,
        }
        aad = ksp1.auth_binding(new_client_public_key=new_key.public_key())
        answer = self.operate("/v1/authai/rotate-key", self.auth_payload("authai.rotate_key"), aad, body)
        if answer["public_key_fingerprint"] != ksp1.fingerprint(new_key.public_key()):
            raise ValueError("another key was put in place")
        self.key = new_key
        self.keep_challenge(answer)
        return answer

    def save(self, namespace, items, is_bound=True):
        message = {"v": "ksp1", "type": "kv.save", "namespace": namespace, "items": items}
        data = self.payload(message, is_bound)
        aad = ksp1.auth_binding(data_envelope=data) if is_bound else None
        answer = self.operate("/v1/kv/save", self.auth_payload("kv.save"), aad, {"data_envelope": data})
        self.keep_challenge(answer)
        return answer["saved_count"]

    def read(self, namespace, keys, is_bound=True, recipient=None):
        """The result for the active key, or, where a recipient is named, for that one."""
        message = {"v": "ksp1", "type": "kv.read", "namespace": namespace, "keys": keys}
        query = self.payload(message, is_bound)
        recipient_key = recipient and recipient.public_key()
        aad = ksp1.auth_binding(query_envelope=query, recipient_public_key=recipient_key) if is_bound else None
        body = {"query_envelope": query}
        if recipient is not None:
            body["recipient_public_key"] = ksp1.public_pem(recipient_key)
        payload = self.auth_payload("kv.read")
        answer = self.operate("/v1/kv/read", payload, aad, body)
        envelope = answer["result_envelope"]
        proof = ksp1.result_proof(payload["nonce"], payload["request_id"], envelope)
        if not hmac.compare_digest(proof, answer["result_proof"]):
            raise ValueError("the result is not the service's answer to this request")
        # A hundred values of 64 KiB fit into no envelope that is sent to the service, but into one that it sends.
        result, _ = ksp1.open_envelope(recipient or self.key, envelope, largest=8 * 1024 * 1024)
        if (result["v"], result["type"]) != ("ksp1", "kv.read.result"):
            raise ValueError("the result is of another kind")
        self.keep_challenge(answer)
        return result
