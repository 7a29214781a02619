import type { AccessRequest, ErrorBody, ErrorCode } from './wire.ts'

/** What to ask for, ready to be given to `requestAccess`, so that a refused call could be made. */
export type WantedAccess = NonNullable<ErrorBody['error']['access_request']>

/**
 * The codes that no service sends:
 *
 * - `no_answer`: none came. What was asked for may have happened.
 * - `timeout`: none came in time. The same holds.
 * - `unexpected_answer`: what came is not an answer of this service.
 * - `invalid_callback`: it is not genuine.
 * - `access_denied`, `access_expired`, `access_cancelled`: how an access request that was waited for ended.
 */
export type ClientErrorCode =
  | 'no_answer'
  | 'timeout'
  | 'unexpected_answer'
  | 'invalid_callback'
  | 'access_denied'
  | 'access_expired'
  | 'access_cancelled'

export interface ErrorFacts {
  status?: number | undefined
  retryable?: boolean | undefined
  requestId?: string | undefined
  field?: string | undefined
  retryAfterSeconds?: number | undefined
  accessRequest?: WantedAccess | undefined
  cause?: unknown
}

/**
 * Whatever goes wrong between you and the service. `code` is stable: switch on it.
 *
 * An abort is not one of these: what you gave as its reason is thrown, as `fetch` does.
 */
export class SallyportError extends Error {
  readonly code: ErrorCode | ClientErrorCode
  /** Of the answer, where there was one. */
  readonly status: number | undefined
  /** Whether the same call may succeed later. */
  readonly retryable: boolean
  /** What the service's log knows the call by. */
  readonly requestId: string | undefined
  /** The member at fault. */
  readonly field: string | undefined
  /** How long to wait before another try, where the service said so. */
  readonly retryAfterSeconds: number | undefined
  /** Of a refused call: what to ask for, so that it can be made. */
  readonly accessRequest: WantedAccess | undefined

  constructor(code: SallyportError['code'], message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? {} : { cause: facts.cause })
    this.name = new.target.name
    this.code = code
    this.status = facts.status
    this.retryable = facts.retryable ?? false
    this.requestId = facts.requestId
    this.field = facts.field
    this.retryAfterSeconds = facts.retryAfterSeconds
    this.accessRequest = facts.accessRequest
  }
}

/** The person said no. `request.denial_reason` is what they said about it, if anything. */
export class AccessDenied extends SallyportError {
  readonly request: AccessRequest

  constructor(request: AccessRequest) {
    const { denial_reason: reason } = request
    super(
      'access_denied',
      reason === null ? 'The access request was denied.' : `The access request was denied: ${reason}`,
    )
    this.request = request
  }
}

/** Nobody decided in time. Ask again. */
export class AccessExpired extends SallyportError {
  readonly request: AccessRequest

  constructor(request: AccessRequest) {
    super('access_expired', 'The access request expired without a decision.')
    this.request = request
  }
}
