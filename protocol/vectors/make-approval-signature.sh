#!/usr/bin/env bash
# Writes approval-signature.json beside this file: what a device signs, and signatures by the openssl command line that
# are accepted or refused. Keys and nonces are new with every run, so run it only when the form changes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

base64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }
hex() { od -An -v -tx1 | tr -d ' \n'; }
from_hex() { printf "$(printf %s "$1" | sed 's/../\\x&/g')"; }

new_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$work/$1.pem"; }
point() { openssl ec -in "$work/$1.pem" -pubout -outform DER 2>/dev/null | tail -c 64; }
x_of() { point "$1" | head -c 32 | base64url; }
y_of() { point "$1" | tail -c 32 | base64url; }
thumbprint() {
  printf '{"crv":"P-256","kty":"EC","x":"%s","y":"%s"}' "$(x_of "$1")" "$(y_of "$1")" |
    openssl dgst -sha256 -binary | base64url
}
sign_hex() { printf %s "$2" | openssl dgst -sha256 -sign "$work/$1.pem" | hex; }

# SEQUENCE (1 byte), its length (1), INTEGER (1), its length (1), r, INTEGER (1), its length (1), s
r_of() { printf %s "${1:8:$((2 * 16#${1:6:2}))}"; }
s_of() { printf %s "${1:$((12 + 2 * 16#${1:6:2}))}"; }
der() { # two integers in hex, as they are
  local body
  body=$(printf '02%02x%s02%02x%s' $((${#1} / 2)) "$1" $((${#2} / 2)) "$2")
  printf '30%02x%s' $((${#body} / 2)) "$body"
}
width_32() { printf '%64s' "${1#00}" | tr ' ' 0; }
encode() { from_hex "$1" | base64url; }

new_key device
new_key other
challenge=chl_01k9x3v7qmf5v8t2w4y6z8abcd
request=arq_01k9x3v7qmf5v8t2w4y6z8abce
decision='{"allowed_hosts":["api.example.com"],"connection_id":"con_01k9x3v7qmf5v8t2w4y6z8abcf","max_calls":10}'
openssl rand 32 >"$work/random"
plain_nonce=$(base64url <"$work/random")
decided_nonce=$({ cat "$work/random"; printf %s "$decision" | openssl dgst -sha256 -binary; } | base64url)
message() { printf 'svc-approval.v1.%s.%s.%s.%s' "$1" "$2" "$3" "$4"; }

approve=$(message $challenge "$plain_nonce" $request approve)
deny=$(message $challenge "$plain_nonce" $request deny)
decided=$(message $challenge "$decided_nonce" $request approve)
# One whose r needs a leading zero, so that taking it away makes r negative; s is of full width.
# That makes 71 bytes, which padded base64 would end with a sign of equality.
until good=$(sign_hex device "$approve"); [[ $(r_of "$good") == 00* && ${#good} -eq 142 ]]; do :; done
r=$(r_of "$good")
s=$(s_of "$good")

vector() { # name, nonce, decision, verdict, message, signature, code
  printf '    {\n      "name": "%s",\n      "challenge_id": "%s",\n      "nonce": "%s",\n' "$1" $challenge "$2"
  printf '      "decision": %s,\n      "access_request_id": "%s",\n      "verdict": "%s",\n' "$3" $request "$4"
  printf '      "message": "%s",\n      "signature": "%s"' "$5" "$6"
  if [ -n "${7:-}" ]; then printf ',\n      "code": "%s"' "$7"; fi
  printf '\n    }'
}
accepted() { vector "$1" "$2" "$3" "$4" "$5" "$6"; }
refused() { vector "$1" "$plain_nonce" null "$4" "$5" "$2" "$3"; }
decision_json="\"$(printf %s "$decision" | sed 's/"/\\"/g')\""

{
  printf '{\n  "public_key_jwk": {\n    "kty": "EC",\n    "crv": "P-256",\n    "x": "%s",\n    "y": "%s"\n  },\n' \
    "$(x_of device)" "$(y_of device)"
  printf '  "thumbprint": "%s",\n  "accepted": [\n' "$(thumbprint device)"
  accepted 'an approval' "$plain_nonce" null approve "$approve" "$(encode "$good")"
  printf ',\n'
  accepted 'a denial' "$plain_nonce" null deny "$deny" "$(encode "$(sign_hex device "$deny")")"
  printf ',\n'
  accepted 'an approval whose nonce covers the decision' "$decided_nonce" "$decision_json" approve "$decided" \
    "$(encode "$(sign_hex device "$decided")")"
  printf '\n  ],\n  "refused": [\n'
  refused 'the two integers side by side (IEEE P1363)' "$(encode "$(width_32 "$r")$(width_32 "$s")")" invalid_field \
    approve "$approve"
  printf ',\n'
  refused 'a byte after the end' "$(encode "${good}00")" invalid_field approve "$approve"
  printf ',\n'
  refused 'an integer with a needless leading zero' "$(encode "$(der "00$r" "$s")")" invalid_field approve "$approve"
  printf ',\n'
  refused 'an integer whose high bit makes it negative' "$(encode "$(der "${r#00}" "$s")")" invalid_field \
    approve "$approve"
  printf ',\n'
  refused 'base64url with padding' "$(encode "$good")=" invalid_field approve "$approve"
  printf ',\n'
  refused 'the other verdict' "$(encode "$good")" invalid_signature deny "$deny"
  printf ',\n'
  refused 'by another key' "$(encode "$(sign_hex other "$approve")")" invalid_signature approve "$approve"
  printf ',\n'
  refused 'over another nonce' "$(encode "$(sign_hex device "$decided")")" invalid_signature approve "$approve"
  printf '\n  ]\n}\n'
} >"$here/approval-signature.json"
