import type { ErrorCode } from '@sallyport/protocol/errors'

interface Circumstances {
  /** The request member at fault, shown to the caller. */
  field?: string
  /** Shown to the caller instead of the code's usual message. Never contains what the caller sent. */
  message?: string
  /** Written to the log, never shown to the caller. */
  detail?: string
  /** After how many seconds the caller may try again. */
  retryAfterSeconds?: number
  /** Further members of the error body, under their wire names. */
  extra?: Readonly<Record<string, unknown>>
  cause?: unknown
}

/** Every error that the service answers with. The code decides status and message; `http/error-replies.ts` makes HTTP of it. */
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
