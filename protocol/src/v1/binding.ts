/**
 * What ties envelopes together. The protocol itself ties them to nothing, so a relay could pair one client's data with
 * another's authentication. These texts stand in `aad`, which is authenticated and so can't be stripped.
 */
import { toBase64url } from './base64url.ts'
import type { Envelope } from './envelope.ts'

/** An `aad` that begins like this has to verify. Any other is opaque. */
export const bindingPrefix = 'ksp1-bind.v1.'

const utf8 = new TextEncoder()

/** The bytes of `aad` for a text such as those below. */
export function aadBytes(text: string): Uint8Array<ArrayBuffer> {
  return utf8.encode(text)
}

export function isBinding(aad: Uint8Array): boolean {
  const prefix = utf8.encode(bindingPrefix)
  return aad.length >= prefix.length && prefix.every((byte, index) => aad[index] === byte)
}

/** For data_envelope and query_envelope: whose they are, and with which challenge they may be used. */
export function payloadBinding(clientUuid: string, challengeId: string): string {
  return `${bindingPrefix}${clientUuid}.${challengeId}`
}

/** For result_envelope: whose request it answers, and which key that client has. A client knows itself by its key. */
export function resultBinding(clientUuid: string, fingerprint: string): string {
  return `${bindingPrefix}${clientUuid}.${fingerprint}`
}

/** What an auth_envelope is sent with. Keys are given as SPKI in DER. */
export interface BoundMembers {
  data_envelope?: Envelope | undefined
  query_envelope?: Envelope | undefined
  recipient_public_key?: Uint8Array | undefined
  new_client_public_key?: Uint8Array | undefined
}

/** For auth_envelope: what else stands in the request, in this order; nothing else does. */
export async function authBinding(members: BoundMembers): Promise<string> {
  const { data_envelope, query_envelope, recipient_public_key, new_client_public_key } = members
  const hashes: [string, string | undefined][] = [
    ['data_envelope', data_envelope && (await envelopeHash(data_envelope))],
    ['query_envelope', query_envelope && (await envelopeHash(query_envelope))],
    ['recipient_public_key', recipient_public_key && (await hashOf(recipient_public_key))],
    ['new_client_public_key', new_client_public_key && (await hashOf(new_client_public_key))],
  ]
  const lines = hashes.filter(([, hash]) => hash !== undefined).map(([name, hash]) => `${name}=${hash ?? ''}\n`)
  return bindingPrefix + (await hashOf(utf8.encode(lines.join(''))))
}

/** Base64url of the SHA-256 of `encrypted_key.iv.ciphertext.tag.aad`, members as sent, an absent aad empty. */
export async function envelopeHash({ encrypted_key, iv, ciphertext, tag, aad = '' }: Envelope): Promise<string> {
  return hashOf(utf8.encode([encrypted_key, iv, ciphertext, tag, aad].join('.')))
}

/** What result_proof is the HMAC of. `requestId` is the one of the auth_envelope, as it was sent. */
export async function resultProofInput(requestId: string, resultEnvelope: Envelope): Promise<string> {
  return `ksp1-result.v1.${requestId}.${await envelopeHash(resultEnvelope)}`
}

/** Base64url of HMAC-SHA-256 under the bytes of the consumed nonce: only who knew the challenge can make it. */
export async function resultProof(
  nonce: Uint8Array<ArrayBuffer>,
  requestId: string,
  resultEnvelope: Envelope,
): Promise<string> {
  const { subtle } = crypto
  const key = await subtle.importKey('raw', nonce, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const input = utf8.encode(await resultProofInput(requestId, resultEnvelope))
  return toBase64url(new Uint8Array(await subtle.sign('HMAC', key, input)))
}

/** What the service keeps of a nonce: the SHA-256 of its bytes. */
export async function nonceHash(nonce: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(nonce)))
}

async function hashOf(bytes: Uint8Array): Promise<string> {
  return toBase64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(bytes))))
}
