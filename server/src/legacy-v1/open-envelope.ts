/**
 * Decrypts envelopes that were encrypted for the service. Whatever is wrong with one, the caller gets the same code.
 */
import type { EnvelopeParts } from '@sallyport/protocol/v1/envelope'
import { Malformed } from '@sallyport/protocol/v1/malformed'
import { hasRepeatedMember } from '@sallyport/protocol/v1/json-members'
import { ServiceError } from '../platform/errors.ts'
import { parseJson } from '../platform/json.ts'
import { modulusBytes, openParts } from './envelope-crypto.ts'
import type { RsaQueue } from './rsa-queue.ts'
import type { ServiceKeys } from './service-keys.ts'

export interface OpenNeeds {
  rsa: RsaQueue
  keys: ServiceKeys
}

export type EnvelopeMember = 'auth_envelope' | 'data_envelope' | 'query_envelope'

/** Returns the result of `read`, which gets the decrypted JSON and its text. */
export async function openEnvelope<T>(
  needs: OpenNeeds,
  member: EnvelopeMember,
  parts: EnvelopeParts,
  read: (json: unknown, text: string) => T,
): Promise<T> {
  const plaintext = await decrypt(needs, parts)
  return orRefused(member, () => {
    if (!plaintext) throw new Malformed('does not open')
    const { json, text } = jsonIn(plaintext)
    return read(json, text)
  })
}

/** The violated rule is only logged. It reveals nothing about the content. */
export function orRefused<T>(member: EnvelopeMember, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof Malformed)) throw error
    throw refusal(member, error.message)
  }
}

export function refusal(member: EnvelopeMember, detail: string): ServiceError {
  const code = member === 'auth_envelope' ? 'invalid_auth_envelope' : 'payload_invalid'
  return new ServiceError(code, { field: member, detail })
}

async function decrypt({ rsa, keys }: OpenNeeds, parts: EnvelopeParts): Promise<Uint8Array | undefined> {
  for (const key of await keys.openers(parts.keyId)) {
    if (modulusBytes(key) !== parts.encryptedKey.length) continue
    const plaintext = await openParts(rsa, key, parts)
    if (plaintext) return plaintext
  }
  return undefined
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Objects, arrays and members: more than a value of the largest size can have. A million would block the event loop.
 */
const maxParts = 50_000

function jsonIn(plaintext: Uint8Array): { json: unknown; text: string } {
  try {
    const text = utf8.decode(plaintext)
    if (!hasRepeatedMember(text, maxParts)) return { json: parseJson(text), text }
  } catch {
    throw new Malformed('holds no JSON in UTF-8')
  }
  throw new Malformed(`holds a member twice, or more than ${maxParts} of them`)
}
