/**
 * The outcome of one attempt, in coarse codes that the agent may see. A blocked address has the same code whether or
 * not a server is there.
 */
import { retryAfterTime } from '../platform/backoff.ts'
import { ServiceError } from '../platform/errors.ts'

export interface Failure {
  error: string
  /** No further attempts. */
  isFinal: boolean
  /** From the receiver's Retry-After. */
  notBefore?: Date | undefined
  /** For the log. */
  cause?: unknown
}

const longestWishMs = 3_600_000

/** Undefined for success: any 2xx. */
export function judgeAnswer(
  { status, headers }: { status: number; headers: readonly (readonly [string, string])[] },
  now: Date,
): Failure | undefined {
  if (status >= 200 && status < 300) return undefined
  if (status === 410) return { error: 'gone', isFinal: true }
  if (status >= 300 && status < 400) return { error: 'redirect', isFinal: false }
  const failure = { error: `http_${status}`, isFinal: false }
  if (status !== 429 && status !== 503) return failure
  const [, wish] = headers.find(([name]) => name.toLowerCase() === 'retry-after') ?? []
  const wished = wish === undefined ? undefined : retryAfterTime(wish, now)
  const latest = new Date(now.getTime() + longestWishMs)
  return { ...failure, notBefore: wished && wished > latest ? latest : wished }
}

const errors: Partial<Record<string, string>> = {
  upstream_timeout: 'timeout',
  upstream_unreachable: 'unreachable',
  upstream_tls_error: 'tls_error',
  upstream_body_too_large: 'invalid_response',
  upstream_encoding_unsupported: 'invalid_response',
  address_not_allowed: 'address_not_allowed',
  invalid_url: 'address_not_allowed',
}

/** Errors that are not network failures are our own. The agent sees no details of them. */
export function failureOf(cause: unknown): Failure {
  const error = cause instanceof ServiceError ? errors[cause.code] : undefined
  return { error: error ?? 'internal', isFinal: false, cause }
}
