/** Connection failures as error codes. Only host and reason are logged: the library's message may quote what was sent. */
import type { ErrorCode } from '@sallyport/protocol/errors'
import { ServiceError } from '../errors.ts'

/** All error codes of outgoing calls. They are created only in this file, so the list is complete. */
const codes = [
  'invalid_url',
  'address_not_allowed',
  'upstream_unreachable',
  'upstream_tls_error',
  'upstream_timeout',
  'upstream_body_too_large',
  'upstream_encoding_unsupported',
  'busy',
] as const satisfies ErrorCode[]

export function isEgressFailure(error: unknown): error is ServiceError {
  return error instanceof ServiceError && codes.some((code) => code === error.code)
}

function failing(code: (typeof codes)[number]) {
  return (host: string, reason: string, field?: string) =>
    new ServiceError(code, { detail: `${host}: ${reason}`, ...(field !== undefined && { field }) })
}

export const notAllowed = failing('address_not_allowed')
export const unreachable = failing('upstream_unreachable')
export const tlsFailure = failing('upstream_tls_error')
const timeout = failing('upstream_timeout')
export const tooLarge = failing('upstream_body_too_large')
/** An unknown, stacked or broken content encoding: what can't be decoded can't be redacted. */
export const notDecodable = failing('upstream_encoding_unsupported')

export function timedOut(host: string, waitedFor: string): ServiceError {
  return timeout(host, `no ${waitedFor} in time`)
}

/** Too many names of the same account, or of all, wait for their name servers. */
export function tooManyLookups(host: string): ServiceError {
  const message = 'Too many host names are being looked up whose name servers are slow. Nothing was sent.'
  return new ServiceError('busy', { message, detail: `${host}: no place for a look-up`, retryAfterSeconds: 5 })
}

export function invalidUrl(message: string, field?: string): ServiceError {
  return new ServiceError('invalid_url', { message, ...(field !== undefined && { field }) })
}

/** A mistake on our side, such as a header that can't be sent. */
export function isOurFault(error: unknown): boolean {
  return /^UND_ERR_(?:INVALID_ARG|NOT_SUPPORTED)$/.test(codeOf(error))
}

/** The whole HTTP/2 session has ended, which undici may notice only when its socket is closed. */
export function hasEndedSession(error: unknown): boolean {
  return /^ERR_HTTP2_(?!STREAM_)/.test(codeOf(error))
}

/** The error for a failure of undici or a socket after the connection was open. */
export function failureOf(host: string, error: unknown): Error {
  if (error instanceof ServiceError) return error
  if (isOurFault(error)) return new Error(`${host}: the request can not be sent`)
  const code = codeOf(error)
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return tooLarge(host, 'headers')
  if (/^(?:ERR_SSL|ERR_TLS|EPROTO)/.test(code)) return tlsFailure(host, code)
  return unreachable(host, code)
}

export function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : 'unknown'
}
