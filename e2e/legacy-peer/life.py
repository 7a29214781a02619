"""The whole life of a client against a running service: `life.py <address> <fingerprint of the service's key> <keys>`.

The keys are four private ones in PEM: the client's, a thief's, a friend's, and the client's next.

Prints a line of JSON for each thing that came out as it should, and ends with an error at the first that did not.
"""

import json
import sys

import ksp1
from client import Answered, Client


def say(step, **found):
    print(json.dumps({"step": step, **found}, ensure_ascii=False), flush=True)


def expect(what, is_so):
    if not is_so:
        raise AssertionError(what)


def refused(status, code, work):
    try:
        work()
    except Answered as answer:
        expect(f"{answer} is not {status} {code}", (answer.status, answer.code) == (status, code))
        return code
    raise AssertionError(f"went through, where {status} {code} was due")


ITEMS = [
    {"key": "plain", "value": "text", "metadata": {"from": "a peer"}},
    {"key": "ключ/鍵", "value": {"deep": [1, 2.5, None, True, {"ü": "🔑"}]}, "metadata": {}},
    {"key": "nothing", "value": None, "metadata": {}},
]


def live(base, pinned, *pems):
    first, thief, friend, second = map(ksp1.read_private_key, pems)
    client = Client(base, pinned, first)
    client.register(client_label="peer", client_key_id="first", metadata={"made_by": "another hand"})
    say("registered", client_uuid=client.client_uuid)

    expect("all are counted", client.save("Peer/Things", ITEMS) == len(ITEMS))
    result = client.read("peer/things", [item["key"] for item in ITEMS] + ["absent"])
    found = [{name: item[name] for name in ("key", "value", "metadata")} for item in result["items"]]
    by_key = lambda item: item["key"]
    expect("what was saved is read", sorted(found, key=by_key) == sorted(ITEMS, key=by_key))
    expect("the namespace is the normalized one", result["namespace"] == "peer/things")
    expect("what is not there is named", result["missing"] == ["absent"])
    say("saved and read", items=len(found))

    client.save("peer/things", [{"key": "plain", "value": "later", "metadata": {}}])
    latest = client.read("peer/things", ["plain"])["items"][0]
    expect("the last write wins", (latest["value"], latest["metadata"]) == ("later", {}))
    say("wrote again")

    replay(client)
    bindings(client, thief, friend)
    rotation(client, second)
    unbound(client)
    say("done")


def replay(client):
    used = dict(client.challenge)
    client.refresh()
    expect("the next challenge is another", client.challenge["challenge_id"] != used["challenge_id"])
    fresh, client.challenge = client.challenge, used
    code = refused(409, "challenge_already_used", client.refresh)
    client.challenge = {**fresh, "nonce": used["nonce"]}
    refused(401, "challenge_nonce_mismatch", client.refresh)
    client.challenge = fresh
    client.refresh()
    say("refreshed, and a used challenge was refused", code=code)


def bindings(client, thief, friend):
    """What a relay could try: another payload under this authentication, or a recipient of its own."""
    mine = client.payload({"v": "ksp1", "type": "kv.save", "namespace": "peer", "items": ITEMS})
    other = client.payload({"v": "ksp1", "type": "kv.save", "namespace": "peer", "items": ITEMS[:1]})
    aad = ksp1.auth_binding(data_envelope=mine)
    payload = client.auth_payload("kv.save")
    swap = lambda: client.operate("/v1/kv/save", payload, aad, {"data_envelope": other})
    swapped = refused(400, "invalid_auth_envelope", swap)

    query = client.payload({"v": "ksp1", "type": "kv.read", "namespace": "peer/things", "keys": ["plain"]})
    body = {"query_envelope": query, "recipient_public_key": ksp1.public_pem(thief.public_key())}
    aad = ksp1.auth_binding(query_envelope=query)
    redirect = lambda: client.operate("/v1/kv/read", client.auth_payload("kv.read"), aad, body)
    redirected = refused(400, "invalid_auth_envelope", redirect)

    result = client.read("peer/things", ["plain"], recipient=friend)
    expect("a recipient that is bound reads it", result["items"][0]["value"] == "later")
    say("bound", swapped=swapped, redirected=redirected)


def rotation(client, new_key):
    old_key, uuid = client.key, client.client_uuid
    stale = dict(client.challenge)
    answer = client.rotate(new_key, new_client_key_id="second", new_client_label="peer, later")
    expect("the identity stays", client.client_uuid == uuid)
    expect("the key's name is the new one", answer["client_key_id"] == "second")
    expect("what was saved stays", client.read("peer/things", ["plain"])["items"][0]["value"] == "later")
    fresh, client.challenge = client.challenge, stale
    refused(409, "challenge_already_used", client.refresh)
    client.challenge = fresh

    client.key = old_key
    retired = refused(409, "public_key_already_registered", client.register)
    client.key = new_key
    client.register()
    expect("registering again gives the identity back", client.client_uuid == uuid)
    say("rotated", fingerprint=answer["public_key_fingerprint"], retired=retired)


def unbound(client):
    """The contract asks for no aad: a client that knows nothing of binding is served."""
    client.save("peer/unbound", [{"key": "a", "value": 1, "metadata": {}}], is_bound=False)
    result = client.read("peer/unbound", ["a"], is_bound=False)
    expect("an unbound client reads", result["items"][0]["value"] == 1)
    say("served without binding")


if __name__ == "__main__":
    live(*sys.argv[1:])
