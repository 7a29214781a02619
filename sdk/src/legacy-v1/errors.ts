/**
 * Thrown for every failure. `code` and `status` are those of the service if it refused (`payload_invalid`,
 * `rate_limited` …). Otherwise `code` is one of these:
 *
 * - `no_answer`: no response, even after registering again. The operation may or may not have taken effect.
 * - `unexpected_answer`: the response is not valid in this protocol, or is for another client.
 * - `service_key_mismatch`: the service's key matches none of the pinned fingerprints.
 * - `result_not_authentic`: a read result that the service did not create for this request.
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
