/**
 * The form of an envelope (legacy v1, Envelope), strictly: whoever reads one here and whoever reads it elsewhere read the
 * same bytes. Nothing is decrypted here, and what is said about a fault depends on public text alone.
 */
import { fromBase64url, toBase64url } from './base64url.ts'
import { Malformed } from './malformed.ts'
import { literal, membersOf, textOf } from './members.ts'

export const version = 'ksp1'
export const envelopeAlg = 'RSA-OAEP-256'
export const envelopeEnc = 'A256GCM'
/** How a client's key is named when it is registered. */
export const keyAlgorithm = 'RSA-OAEP-256/A256GCM'

export const contentKeyBytes = 32
export const ivBytes = 12
export const tagBytes = 16
export const maxAadBytes = 1024
export const maxKeyIdLength = 200
/** What the service takes. */
export const maxCiphertextBytes = 1024 * 1024
/** Of an auth_envelope, which anybody can make: it holds nine short members. */
export const maxAuthCiphertextBytes = 16 * 1024
/** What the service sends: a hundred values of the largest size. */
export const maxResultCiphertextBytes = 8 * 1024 * 1024

/** An envelope as it stands on the wire; all but the first four members in base64url, written without padding. */
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

/** What an envelope holds. */
export interface EnvelopeParts {
  keyId: string | undefined
  /** The content key, encrypted by RSA-OAEP with SHA-256 (and MGF1 with SHA-256, no label). */
  encryptedKey: Uint8Array<ArrayBuffer>
  iv: Uint8Array<ArrayBuffer>
  ciphertext: Uint8Array<ArrayBuffer>
  tag: Uint8Array<ArrayBuffer>
  /** The bytes that GCM authenticates besides the ciphertext: `aad` decoded. Empty where the member is absent. */
  aad: Uint8Array<ArrayBuffer>
}

const requiredMembers = ['v', 'alg', 'enc', 'encrypted_key', 'iv', 'ciphertext', 'tag'] as const
const optionalMembers = ['key_id', 'aad'] as const

/** Throws {@link Malformed} for anything that is not exactly an envelope. */
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
    // Keys have 2048 to 4096 bits; which it is, is known to whoever has the key.
    encryptedKey: bytesOf('encrypted_key', members['encrypted_key'], 256, 512),
    iv: bytesOf('iv', members['iv'], ivBytes, ivBytes),
    // No JSON object is shorter than {}.
    ciphertext: bytesOf('ciphertext', members['ciphertext'], 2, maxBytes),
    tag: bytesOf('tag', members['tag'], tagBytes, tagBytes),
    // An empty one would be a second way of writing none.
    aad: Object.hasOwn(members, 'aad') ? bytesOf('aad', members['aad'], 0, maxAadBytes) : new Uint8Array(),
  }
  return { envelope: members as unknown as Envelope, parts }
}

function bytesOf(what: string, value: unknown, least: number, most: number): Uint8Array<ArrayBuffer> {
  // Length first: what is far too long is not worth decoding.
  const isText = typeof value === 'string' && value.length <= 4 * Math.ceil(most / 3)
  const bytes = isText ? fromBase64url(value) : undefined
  if (!bytes || bytes.length < least || bytes.length > most) {
    const size = least === most ? String(least) : `${least} to ${most}`
    throw new Malformed(`${what}: not ${size} bytes in base64url`)
  }
  return bytes
}

/** The envelope that holds these parts. `encode`: where a runtime has a faster way to write base64url. */
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
