/**
 * Verifies callbacks (Standard Webhooks): the body was sent by a holder of the secret, unchanged and recently. A
 * callback that is delivered twice has the same `webhook-id`: store it if you must not act twice.
 */
import { SallyportError } from './errors.ts'

/** The decision on an access request. */
export interface CallbackEvent {
  event: 'access_request.approved' | 'access_request.denied'
  access_request_id: string
  status: 'approved' | 'denied'
  grant_id: string | null
  provider: string
  agent_id: string
}

/** Headers of `fetch` or of a Node.js server. */
export type CallbackHeaders = Headers | Record<string, string | string[] | undefined>

export interface VerifyCallbackOptions {
  /** Allowed difference between the callback's timestamp and `now`. Default: 300. */
  toleranceSeconds?: number | undefined
  now?: Date | undefined
}

const prefix = 'whsec_'
const maxSignatures = 10

/**
 * Returns the callback if it is authentic, and throws `invalid_callback` otherwise. Pass `body` as received, unparsed.
 *
 * ```ts
 * const event = await verifyCallback(secret, request.headers, await request.text())
 * if (event.status === 'approved') console.log(event.grant_id)
 * ```
 */
export async function verifyCallback(
  secret: string,
  headers: CallbackHeaders,
  body: string | Uint8Array,
  { toleranceSeconds = 300, now = new Date() }: VerifyCallbackOptions = {},
): Promise<CallbackEvent> {
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) =>
    valueOf(headers, `webhook-${name}`),
  )
  if (!id || !timestamp || !signatures) throw invalid('A webhook- header is missing.')
  const seconds = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN
  if (!(Math.abs(now.getTime() / 1000 - seconds) <= toleranceSeconds)) {
    throw invalid('The timestamp is too old or in the future.')
  }
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  if (!ArrayBuffer.isView(bytes)) throw new TypeError('Pass the callback body unparsed, as text or bytes.')
  const head = new TextEncoder().encode(`${id}.${timestamp}.`)
  const signed = new Uint8Array(head.length + bytes.length)
  signed.set(head)
  signed.set(bytes, head.length)
  const key = await keyOf(secret)
  for (const one of signatures.split(' ').slice(0, maxSignatures)) {
    const signature = one.startsWith('v1,') ? fromBase64(one.slice(3)) : undefined
    // `verify` compares in constant time.
    if (signature && (await crypto.subtle.verify('HMAC', key, signature, signed))) return eventIn(bytes)
  }
  throw invalid('No signature matches this secret.')
}

async function keyOf(secret: string) {
  const bytes = secret.startsWith(prefix) ? fromBase64(secret.slice(prefix.length)) : undefined
  if (!bytes || bytes.length === 0) throw new TypeError(`The callback secret must be ${prefix} followed by base64.`)
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
}

function eventIn(bytes: Uint8Array): CallbackEvent {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as CallbackEvent
  } catch (cause) {
    throw invalid('The body is not JSON.', cause)
  }
}

function valueOf(headers: CallbackHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const found = Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1]
  return typeof found === 'string' ? found : found?.join(',')
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

function invalid(message: string, cause?: unknown): SallyportError {
  return new SallyportError('invalid_callback', message, { cause })
}
