/** Parses a browser's PushSubscription from JSON. Nothing in it is trusted. */
import { createPublicKey } from 'node:crypto'
import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import type { Secret } from '../secret.ts'

const maxTextLength = 4096

const form = Type.Object({
  endpoint: Type.String(),
  keys: Type.Object({ p256dh: Type.String(), auth: Type.String() }),
})

/** Undefined if it is invalid. The endpoint's address is not checked here. */
export function subscriptionOf(token: Secret): Static<typeof form> | undefined {
  if (token.length > maxTextLength) return undefined
  const value = parsed(token.reveal())
  if (!Value.Check(form, value) || !URL.canParse(value.endpoint)) return undefined
  const { endpoint, keys } = value
  if (!isPoint(bytesOf(keys.p256dh)) || bytesOf(keys.auth)?.length !== 16) return undefined
  return { endpoint, keys: { p256dh: keys.p256dh, auth: keys.auth } }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Strictly base64url without padding: Buffer would ignore invalid characters. */
function bytesOf(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

/** Whether it is an uncompressed point on P-256. */
function isPoint(bytes: Buffer | undefined): boolean {
  if (bytes?.length !== 65 || bytes[0] !== 4) return false
  const coordinate = (start: number) => bytes.subarray(start, start + 32).toString('base64url')
  try {
    createPublicKey({ key: { kty: 'EC', crv: 'P-256', x: coordinate(1), y: coordinate(33) }, format: 'jwk' })
    return true
  } catch {
    return false
  }
}
