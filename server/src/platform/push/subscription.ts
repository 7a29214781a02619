/** Parses a browser's PushSubscription from JSON. Nothing in it is trusted. */
import { createPublicKey } from 'node:crypto'
import type { Secret } from '../secret.ts'

export interface Subscription {
  endpoint: string
  keys: { p256dh: string; auth: string }
}

const maxTextLength = 4096

/** Undefined if it is invalid. The endpoint's address is not checked here. */
export function subscriptionOf(token: Secret): Subscription | undefined {
  if (token.length > maxTextLength) return undefined
  const value = parsed(token.reveal())
  if (!isObject(value) || typeof value['endpoint'] !== 'string' || !isObject(value['keys'])) return undefined
  const { p256dh, auth } = value['keys']
  if (!URL.canParse(value['endpoint']) || typeof p256dh !== 'string' || typeof auth !== 'string') return undefined
  if (!isPoint(bytesOf(p256dh)) || bytesOf(auth)?.length !== 16) return undefined
  return { endpoint: value['endpoint'], keys: { p256dh, auth } }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
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
