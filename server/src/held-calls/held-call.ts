/** A call that waits for a person's decision, and what became of it. */
import type { CallDescription, CallReceipt, CallStatus, ShownBody } from '@sallyport/protocol/calls'
import type { ErrorCode } from '@sallyport/protocol/errors'
import type { AccessClass } from '@sallyport/protocol/grant-terms'
import type { AwsScope } from '@sallyport/protocol/proxy'
import { ServiceError } from '../platform/errors.ts'
import type { ToolDoor } from '../proxy/call.ts'
import type { HeaderList } from '../proxy/upstream.ts'
import type { Detail } from './summary/summary.ts'

export interface HeldCall {
  callId: string
  agentId: string
  /** Who decides: the user who approved the grant. */
  userId: string
  grantId: string
  /** Hash of the token that the call came with. */
  tokenHash: Buffer
  /** Of its description. */
  digest: string
  access: AccessClass
  /** The term of the grant that asks. */
  term: string
  /** As of when it was read: what has expired or ended by then is not written yet. */
  status: CallStatus
  createdAt: Date
  expiresAt: Date
  decidedAt: Date | null
  decidedBy: string | null
  decision: Decision | null
  denialReason: string | null
  auditId: string | null
  upstreamStatus: number | null
  /** The upstream may have received it. */
  isSent: boolean
  error: CallError | null
}

/** What proves the decision. The rest of a receipt is in the call. */
export type Decision = Pick<
  CallReceipt,
  'verdict' | 'signing_input' | 'signature' | 'challenge' | 'repeat_for_seconds' | 'device'
>

/** Why a call that was approved has no response. */
export interface CallError {
  code: ErrorCode
  message?: string
}

/** As it will be sent. Sealed until it is sent, or will not be. */
export interface HeldRequest {
  method: string
  url: string
  headers: HeaderList
  droppedHeaders: string[]
  /** In base64. */
  body: string | null
  timeoutMs: number | null
  aws: AwsScope | null
  /** If a tool called. */
  door?: ToolDoor
}

/** What people see of a call. Sealed: it quotes the body. */
export interface Shown {
  description: CallDescription
  sentence: string | null
  details: Detail[]
  body: ShownBody
  reason: string | null
  repeatScope: string | null
}

/** An approved call starts within this time or not at all. */
export const startWithinMs = 30_000
/** The identical call is refused for so long. */
export const deniedForMs = 600_000
/** How long after the decision a tool's identical call gets its answer. */
export const retriedForMs = 600_000
/** How long an agent can read a response. */
export const responseMs = 3_600_000
export const retentionMs = 30 * 86_400_000
/** Of calls that nobody decided. An agent can make 60 an hour of them, and what is shown of each takes up to 100 KB. */
export const undecidedRetentionMs = 86_400_000

export const bounds = {
  waitingOfAgent: 20,
  heldPerHour: 60,
  waitingOfUser: 50,
  /** Sealed requests and responses. */
  bytesOfAgent: 32 * 1024 * 1024,
  callsOfRepeat: 50,
}

export function hasEnded({ status }: Pick<HeldCall, 'status'>): boolean {
  return status !== 'waiting' && status !== 'approved' && status !== 'running'
}

/** A call like it, with the same Idempotency-Key, would be a new one. */
export function isNeverMade({ status, isSent }: HeldCall): boolean {
  return ['denied', 'expired', 'cancelled'].includes(status) || (status === 'done' && !isSent)
}

export function assertWaiting({ status }: HeldCall): void {
  if (status === 'waiting') return
  const messages: Partial<Record<CallStatus, string>> = {
    expired: 'Nobody decided on this call in time. It was not denied.',
    cancelled: 'This call was cancelled by its agent, or because its grant ended.',
  }
  const message = messages[status]
  throw new ServiceError('call_not_waiting', message === undefined ? {} : { message })
}

/** What the agent is answered if the call ended without a response. */
export function errorOf({ status, denialReason, error }: HeldCall): ServiceError {
  switch (status) {
    case 'denied': {
      const said = denialReason === null ? '' : ` They said: “${denialReason}”`
      return new ServiceError('call_denied', {
        message: `A person denied this call. Do not make it again unless they ask for it.${said}`,
      })
    }
    case 'expired':
      return new ServiceError('call_expired')
    case 'cancelled':
      return new ServiceError('call_cancelled')
    case 'done':
      if (error) return new ServiceError(error.code, error.message === undefined ? {} : { message: error.message })
      return new ServiceError('outcome_unknown', {
        message: 'The call was made. Its response is kept for one hour, and no longer stored.',
      })
    default:
      return new ServiceError('outcome_unknown', {
        message: 'The service stopped while the call was made, so its outcome is unknown. It is not repeated.',
      })
  }
}

/** The page where the user decides. */
export function approvalUrl(baseUrl: URL, callId: string): string {
  return new URL(`/approve-call/${callId}`, baseUrl).href
}
