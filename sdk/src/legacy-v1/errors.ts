/**
 * Whatever goes wrong. `code` is the service's own where it refused (`payload_invalid`, `rate_limited` …), with its
 * status, or one of these:
 *
 * - `no_answer`: none came, even after registering again. What was asked for may have happened.
 * - `unexpected_answer`: what came is not an answer of this protocol, or one for another client.
 * - `service_key_mismatch`: the service's key is none of those that were pinned.
 * - `result_not_authentic`: a read result that the service did not make for this request.
 * - `key_retired`: this client's key was replaced by another one.
 */
export class LegacyError extends Error {
  readonly code: string
  readonly status: number | undefined

  constructor(code: string, message: string, options: { status?: number; cause?: unknown } = {}) {
    super(`${code}: ${message}`, options.cause === undefined ? {} : { cause: options.cause })
    this.name = 'LegacyError'
    this.code = code
    this.status = options.status
  }
}

export function hasCode(error: unknown, ...codes: string[]): error is LegacyError {
  return error instanceof LegacyError && codes.includes(error.code)
}
