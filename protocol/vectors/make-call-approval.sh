#!/usr/bin/env bash
# Writes call-approval.json beside this file: held calls, the text that is hashed, and what a device signs to decide on
# them, by the openssl command line. Keys and nonces are new with every run, so run it only when the form changes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

base64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }
sha256() { printf %s "$1" | openssl dgst -sha256 -binary; }
quoted() { printf '"%s"' "$(printf %s "$1" | sed 's/\\/\\\\/g; s/"/\\"/g')"; }

openssl ecparam -name prime256v1 -genkey -noout -out "$work/key.pem"
point() { openssl ec -in "$work/key.pem" -pubout -outform DER 2>/dev/null | tail -c 64; }
challenge=chl_01k9x3v7qmf5v8t2w4y6z8abcd
call=cal_01k9x3v7qmf5v8t2w4y6z8abce

# The RFC 8785 form, written by hand: members in order, no blanks. With `repeat_for_seconds`, as it is signed.
form() { # repeat_for_seconds and a comma, or nothing
  printf %s '{"access":"write","account":"Zoë \"Z\" 😀","adds":["header authorization"],'
  printf %s '"agent_id":"agt_01k9x3v7qmf5v8t2w4y6z8abcd","aws":null,"body_length":14,'
  printf %s '"body_sha256":"7c-M6ZYMyYyDvBbh5NDEzL5JXLVWVkoNRqG1XTiA5gA",'
  printf %s '"connection_id":"con_01k9x3v7qmf5v8t2w4y6z8abcf","grant_id":"grt_01k9x3v7qmf5v8t2w4y6z8abcg",'
  printf %s '"headers":[["content-type","application/json"],["x-note","a\tb"]],"method":"POST",'
  printf %s "${1:-}"
  printf %s '"url":"https://api.example.com/v1/mail?x=%E2%82%AC"}'
}
description=$(form)

vector() { # name, repeat_for_seconds, verdict
  local text nonce message
  text=$(form "\"repeat_for_seconds\":$2,")
  nonce=$({ openssl rand 32; sha256 "$text"; } | base64url)
  message="svc-call.v1.$challenge.$nonce.$call.$3"
  printf '    {\n      "name": "%s",\n      "challenge_id": "%s",\n      "nonce": "%s",\n' "$1" $challenge "$nonce"
  printf '      "call_id": "%s",\n      "verdict": "%s",\n      "repeat_for_seconds": %s,\n' $call "$3" "$2"
  printf '      "decided_text": %s,\n      "message": "%s",\n' "$(quoted "$text")" "$message"
  printf '      "signature": "%s"\n    }' "$(printf %s "$message" | openssl dgst -sha256 -sign "$work/key.pem" | base64url)"
}

{
  printf '{\n  "public_key_jwk": {\n    "kty": "EC",\n    "crv": "P-256",\n    "x": "%s",\n    "y": "%s"\n  },\n' \
    "$(point | head -c 32 | base64url)" "$(point | tail -c 32 | base64url)"
  printf '  "description": %s,\n' "$description"
  printf '  "text": %s,\n  "digest": "%s",\n  "decisions": [\n' "$(quoted "$description")" "$(sha256 "$description" | base64url)"
  vector 'an approval of one call' null approve
  printf ',\n'
  vector 'an approval that repeats' 900 approve
  printf ',\n'
  vector 'a denial' null deny
  printf '\n  ]\n}\n'
} >"$here/call-approval.json"
