import type { ErrorCode } from '@sallyport/protocol/errors'

interface Circumstances {
  /** The member at fault, for the caller. */
  field?: string
  /** A sentence for the caller, where the code's own is not exact enough. Never holds what the caller sent. */
  message?: string
  /** For the log alone. */
  detail?: string
  /** After how many seconds the caller may try again. */
  retryAfterSeconds?: number
  /** More members of the error that the caller gets, under the names they have on the wire. */
  extra?: Readonly<Record<string, unknown>>
  cause?: unknown
}

/** Every refusal of the service. The code decides status and text; `http/error-replies.ts` is where it becomes HTTP. */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly field: string | undefined
  readonly publicMessage: string | undefined
  readonly detail: string | undefined
  readonly retryAfterSeconds: number | undefined
  readonly extra: Readonly<Record<string, unknown>> | undefined

  constructor(code: ErrorCode, circumstances: Circumstances = {}) {
    super(circumstances.detail ?? circumstances.message ?? code, { cause: circumstances.cause })
    this.name = 'ServiceError'
    this.code = code
    this.field = circumstances.field
    this.publicMessage = circumstances.message
    this.detail = circumstances.detail
    this.retryAfterSeconds = circumstances.retryAfterSeconds
    this.extra = circumstances.extra
  }
}
