/**
 * Binds envelopes to each other. The protocol itself doesn't, so a relay could combine one client's data with another's
 * authentication. These texts are in `aad`, which is authenticated and so can't be removed.
 */
import { toBase64url } from './base64url.ts'
import type { Envelope } from './envelope.ts'

/** An `aad` with this prefix has to verify. Any other is opaque. */
export const bindingPrefix = 'ksp1-bind.v1.'

const utf8 = new TextEncoder()

/** Encodes a binding as `aad`. */
export function aadBytes(text: string): Uint8Array<ArrayBuffer> {
  return utf8.encode(text)
}

export function isBinding(aad: Uint8Array): boolean {
  const prefix = utf8.encode(bindingPrefix)
  return aad.length >= prefix.length && prefix.every((byte, index) => aad[index] === byte)
}

/** For data_envelope and query_envelope: the client and the challenge that they belong to. */
export function payloadBinding(clientUuid: string, challengeId: string): string {
  return `${bindingPrefix}${clientUuid}.${challengeId}`
}

/** For result_envelope: the client that made the request and the fingerprint of its key. */
export function resultBinding(clientUuid: string, fingerprint: string): string {
  return `${bindingPrefix}${clientUuid}.${fingerprint}`
}

/** The members sent with an auth_envelope. Keys are SPKI in DER. */
export interface BoundMembers {
  data_envelope?: Envelope | undefined
  query_envelope?: Envelope | undefined
  recipient_public_key?: Uint8Array | undefined
  new_client_public_key?: Uint8Array | undefined
}

/** For auth_envelope: hashes of all other members of the request, in this order. */
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

/** Base64url of the SHA-256 of `encrypted_key.iv.ciphertext.tag.aad`, with members as sent. A missing aad is empty. */
export async function envelopeHash({ encrypted_key, iv, ciphertext, tag, aad = '' }: Envelope): Promise<string> {
  return hashOf(utf8.encode([encrypted_key, iv, ciphertext, tag, aad].join('.')))
}

/** The input of result_proof's HMAC. `requestId` is that of the auth_envelope, as sent. */
export async function resultProofInput(requestId: string, resultEnvelope: Envelope): Promise<string> {
  return `ksp1-result.v1.${requestId}.${await envelopeHash(resultEnvelope)}`
}

/** Base64url of HMAC-SHA-256, keyed with the consumed nonce: only someone who knew the challenge can create it. */
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

/** What the service stores of a nonce: the SHA-256 of its bytes. */
export async function nonceHash(nonce: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(nonce)))
}

async function hashOf(bytes: Uint8Array): Promise<string> {
  return toBase64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(bytes))))
}
