/**
 * Parses envelopes (legacy v1, Envelope) strictly, so that every implementation reads the same bytes. Nothing is
 * decrypted here, and errors depend only on public text.
 */
import { fromBase64url, toBase64url } from './base64url.ts'
import { Malformed } from './malformed.ts'
import { literal, membersOf, textOf } from './members.ts'

export const version = 'ksp1'
export const envelopeAlg = 'RSA-OAEP-256'
export const envelopeEnc = 'A256GCM'
/** The algorithm name of a client's key at registration. */
export const keyAlgorithm = 'RSA-OAEP-256/A256GCM'

export const contentKeyBytes = 32
export const ivBytes = 12
export const tagBytes = 16
export const maxAadBytes = 1024
export const maxKeyIdLength = 200
/** Limit for requests. */
export const maxCiphertextBytes = 1024 * 1024
/** Limit of an auth_envelope, which anyone can create. It has nine short members. */
export const maxAuthCiphertextBytes = 16 * 1024
/** Limit for results: a hundred values of the largest size. */
export const maxResultCiphertextBytes = 8 * 1024 * 1024

/** An envelope as sent. All but the first four members are base64url without padding. */
export interface Envelope {
  v: typeof version
  alg: typeof envelopeAlg
  enc: typeof envelopeEnc
  key_id?: string
  encrypted_key: string
  iv: string
  ciphertext: string
  tag: string
  aad?: string
}

/** The decoded members of an envelope. */
export interface EnvelopeParts {
  keyId: string | undefined
  /** The content key, encrypted with RSA-OAEP (SHA-256, MGF1 with SHA-256, no label). */
  encryptedKey: Uint8Array<ArrayBuffer>
  iv: Uint8Array<ArrayBuffer>
  ciphertext: Uint8Array<ArrayBuffer>
  tag: Uint8Array<ArrayBuffer>
  /** The associated data of GCM: `aad` decoded. Empty if the member is missing. */
  aad: Uint8Array<ArrayBuffer>
}

const requiredMembers = ['v', 'alg', 'enc', 'encrypted_key', 'iv', 'ciphertext', 'tag'] as const
const optionalMembers = ['key_id', 'aad'] as const

/** Throws {@link Malformed} unless it is exactly an envelope. */
export function readEnvelope(
  value: unknown,
  maxBytes = maxCiphertextBytes,
): { envelope: Envelope; parts: EnvelopeParts } {
  const members = membersOf('envelope', value, requiredMembers, optionalMembers)
  literal('v', members['v'], version)
  literal('alg', members['alg'], envelopeAlg)
  literal('enc', members['enc'], envelopeEnc)
  const keyId = Object.hasOwn(members, 'key_id') ? textOf('key_id', members['key_id'], maxKeyIdLength) : undefined
  const parts: EnvelopeParts = {
    keyId,
    // For keys of 2048 to 4096 bits. The exact size depends on the key.
    encryptedKey: bytesOf('encrypted_key', members['encrypted_key'], 256, 512),
    iv: bytesOf('iv', members['iv'], ivBytes, ivBytes),
    // The shortest JSON object is {}.
    ciphertext: bytesOf('ciphertext', members['ciphertext'], 2, maxBytes),
    tag: bytesOf('tag', members['tag'], tagBytes, tagBytes),
    // An empty aad is accepted and means the same as a missing one.
    aad: Object.hasOwn(members, 'aad') ? bytesOf('aad', members['aad'], 0, maxAadBytes) : new Uint8Array(),
  }
  return { envelope: members as unknown as Envelope, parts }
}

function bytesOf(what: string, value: unknown, least: number, most: number): Uint8Array<ArrayBuffer> {
  // Check the length first, so as not to decode huge texts.
  const isText = typeof value === 'string' && value.length <= 4 * Math.ceil(most / 3)
  const bytes = isText ? fromBase64url(value) : undefined
  if (!bytes || bytes.length < least || bytes.length > most) {
    const size = least === most ? String(least) : `${least} to ${most}`
    throw new Malformed(`${what}: not ${size} bytes in base64url`)
  }
  return bytes
}

/** Builds an envelope. `encode`: a faster base64url encoder, if the runtime has one. */
export function writeEnvelope(
  { keyId, encryptedKey, iv, ciphertext, tag, aad }: EnvelopeParts,
  encode: (bytes: Uint8Array) => string = toBase64url,
): Envelope {
  return {
    v: version,
    alg: envelopeAlg,
    enc: envelopeEnc,
    ...(keyId !== undefined && { key_id: keyId }),
    encrypted_key: encode(encryptedKey),
    iv: encode(iv),
    ciphertext: encode(ciphertext),
    tag: encode(tag),
    ...(aad.length > 0 && { aad: encode(aad) }),
  }
}
