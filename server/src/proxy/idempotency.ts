/**
 * Idempotency-Key: the same request with the same key reaches the upstream once. The key is claimed in the transaction
 * that records the attempt.
 */
import { createHash } from 'node:crypto'
import { ServiceError } from '../platform/errors.ts'
import type { Secret } from '../platform/secret.ts'
import type { Call } from './call.ts'

/** A call with a key. */
export interface KeyedCall {
  agentId: string
  grantId: string
  key: string
  requestHash: string
  auditId: string
  /** It is certainly over by then. */
  deadline: Date
  /** The held call that the key is claimed for. */
  heldCallId?: string
}

/** The call that a key was first used for. */
export interface EarlierCall {
  requestHash: string
  /** It may still be in flight. */
  isInFlight: boolean
  isEnded: boolean
  /** Undefined if it was too large, or streamed. */
  answer: Secret | undefined
}

export function readIdempotencyKey(value: string | string[] | undefined): string | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value)) return value
  throw new ServiceError('invalid_field', {
    field: 'Idempotency-Key',
    message: 'The Idempotency-Key is malformed. Use 1 to 255 visible ASCII characters.',
  })
}

/** Each part is preceded by its length, so that different requests never have the same text. */
export function hashRequest(
  request: Pick<Call, 'method' | 'headers' | 'body' | 'followsRedirects' | 'isStreamed' | 'aws'> & { url: URL },
): string {
  const hash = createHash('sha256')
  const headers = request.headers.map(([name, value]) => `${name}: ${value}`).sort()
  const options = [
    ...(request.followsRedirects ? ['follow_redirects'] : []),
    ...(request.isStreamed ? ['stream'] : []),
    ...(request.aws ? [`aws ${request.aws.region ?? ''} ${request.aws.service ?? ''}`] : []),
  ]
  for (const part of [request.method, request.url.href, ...headers, ...options]) hash.update(`${part.length}:${part}\n`)
  hash.update(request.body ? `body ${request.body.length}:` : 'no body')
  if (request.body) hash.update(request.body)
  return hash.digest('base64url')
}

/**
 * What a tool's call that waits for a person is claimed by: tools repeat a call that took too long, with headers that count
 * their attempts. No Idempotency-Key has a blank.
 */
export function retryKey({ method, destination, body, aws }: Pick<Call, 'method' | 'destination' | 'body' | 'aws'>) {
  const { url } = destination
  const requestHash = hashRequest({ method, url, headers: [], body, aws, followsRedirects: false, isStreamed: true })
  return { key: `retry ${requestHash}`, requestHash: `${ofRetries}${requestHash}` }
}

/** How the hashes of such calls begin. */
export const ofRetries = 'retry '

export function assertSame(earlierHash: string, requestHash: string): void {
  if (earlierHash !== requestHash) throw new ServiceError('idempotency_conflict', { field: 'Idempotency-Key' })
}

/** The stored answer. Throws if there is none: the call is never made again. */
export function assertAnswered(earlier: EarlierCall, requestHash: string): Secret {
  assertSame(earlier.requestHash, requestHash)
  if (earlier.answer) return earlier.answer
  if (earlier.isInFlight) {
    throw new ServiceError('conflict', {
      field: 'Idempotency-Key',
      message: 'The call with this Idempotency-Key is still in progress. Try again later.',
      retryAfterSeconds: 1,
    })
  }
  if (!earlier.isEnded) throw new ServiceError('outcome_unknown', { field: 'Idempotency-Key' })
  throw new ServiceError('outcome_unknown', {
    field: 'Idempotency-Key',
    message: 'The call with this Idempotency-Key was made, but its response was not stored. It is not repeated.',
  })
}
