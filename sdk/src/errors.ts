import type { AccessRequest, ErrorBody, ErrorCode } from './wire.ts'

/** The access that a refused call needs. Pass it to `requestAccess`. */
export type WantedAccess = NonNullable<ErrorBody['error']['access_request']>

/**
 * Codes that the SDK itself sets:
 *
 * - `no_answer`: no response. The request may or may not have taken effect.
 * - `timeout`: no response in time. The request may or may not have taken effect.
 * - `unexpected_answer`: the response is not from a Sallyport service.
 * - `invalid_callback`: the callback is not authentic.
 * - `access_denied`, `access_expired`, `access_cancelled`: how the access request ended that `waitForGrant` waited for.
 * - `approval_pending`: the call waits for a person and was neither made nor denied.
 * - `call_denied`, `call_expired`, `call_cancelled`: how the call ended that waited for a person. It was not made.
 */
export type ClientErrorCode =
  | 'no_answer'
  | 'timeout'
  | 'unexpected_answer'
  | 'invalid_callback'
  | 'access_denied'
  | 'access_expired'
  | 'access_cancelled'
  | 'approval_pending'
  | 'call_denied'
  | 'call_expired'
  | 'call_cancelled'

/** A call that a person has to approve. They decide at `approvalUrl`. */
export interface WaitingCall {
  callId: string
  approvalUrl: string
  expiresAt: string
}

export interface ErrorFacts {
  status?: number | undefined
  retryable?: boolean | undefined
  requestId?: string | undefined
  field?: string | undefined
  retryAfterSeconds?: number | undefined
  accessRequest?: WantedAccess | undefined
  upstreamStatus?: number | undefined
  call?: WaitingCall | undefined
  denialReason?: string | undefined
  cause?: unknown
}

/**
 * Thrown for every failed request. `code` is stable: switch on it.
 *
 * An aborted request throws the signal's reason instead, as `fetch` does.
 */
export class SallyportError extends Error {
  readonly code: ErrorCode | ClientErrorCode
  /** The HTTP status, if there was a response. */
  readonly status: number | undefined
  /** Whether the same call may succeed if retried. */
  readonly retryable: boolean
  /** The request id in the service's log. */
  readonly requestId: string | undefined
  /** The request member that is invalid. */
  readonly field: string | undefined
  /** How long to wait before retrying, if the service said so. */
  readonly retryAfterSeconds: number | undefined
  /** The access that a refused call needs. Pass it to `requestAccess`. */
  readonly accessRequest: WantedAccess | undefined
  /** For a refused credential: the status that the provider answered with. */
  readonly upstreamStatus: number | undefined
  /** The call that waits or waited for a person. Its id gets the response later: `calls.wait(callId)`. */
  readonly call: WaitingCall | undefined
  /** For a denied call: the person's own words, if they gave any. */
  readonly denialReason: string | undefined

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
    this.upstreamStatus = facts.upstreamStatus
    this.call = facts.call
    this.denialReason = facts.denialReason
  }
}

/** The user denied the request. `request.denial_reason` is their reason, if they gave one. */
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

/** The request expired before the user decided. Create a new one. */
export class AccessExpired extends SallyportError {
  readonly request: AccessRequest

  constructor(request: AccessRequest) {
    super('access_expired', 'The access request expired without a decision.')
    this.request = request
  }
}
