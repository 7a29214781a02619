/**
 * What became of one attempt, in coarse codes that the agent may see. A place that may not be reached looks the same
 * whether or not anybody is there.
 */
import { retryAfterTime } from '../platform/backoff.ts'
import { ServiceError } from '../platform/errors.ts'

export interface Failure {
  error: string
  /** Another attempt would be unwelcome. */
  isFinal: boolean
  /** When the receiver wants to hear from us again. */
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

/** What is no failure of the way there is ours, and says nothing of itself. */
export function failureOf(cause: unknown): Failure {
  const error = cause instanceof ServiceError ? errors[cause.code] : undefined
  return { error: error ?? 'internal', isFinal: false, cause }
}
