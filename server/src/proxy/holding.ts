/** What this room needs of calls that wait for a person. The room held-calls/ implements it. */
import type { Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Call } from './call.ts'
import type { KeyedCall } from './idempotency.ts'
import type { Once } from './once.ts'

export type Held = { kind: 'held'; callId: string; expiresAt: Date } | { kind: 'stored'; envelope: Buffer }

/** An approval that covers further calls. */
export interface LiveRepeat {
  kind: 'repeat'
  repeatId: string
  /** In the attempt's transaction. False if it is used up, over or revoked by now. */
  use: (tx: Queries, now: Date) => Promise<boolean>
}

export interface Holding {
  /**
   * Holds a call until a person decides, unless an approval that repeats covers it. A tool's call joins one like it that
   * waits, or gets its answer if nobody has got it yet.
   */
  hold: (call: Call, given: { keyed: KeyedCall | undefined; reason: string | undefined }) => Promise<Held | LiveRepeat>
  /** The answer of a held call, if there is one already. Throws the error that it ended with. */
  resultOf: (agentId: string, callId: string) => Promise<Held>
  /** The same for a tool: from then on a call like it is a new one. */
  collect: (agentId: string, callId: string) => Promise<Held>
  /** Resolves once the call has ended, after so many seconds, or when the service or the caller stops waiting. */
  wait: (agentId: string, callId: string, seconds: number, gone: AbortSignal) => Promise<void>
}

/** A held call that a person has approved, and that is made now. */
export interface Approved {
  callId: string
  once: (call: Call) => Once
}

/** Of a body, and of a response: both are stored. */
export const maxHeldBytes = 1024 * 1024

export function tooLargeToHold(): ServiceError {
  const message = 'This call waits for approval, and such a call can have a body of at most 1 MiB.'
  return new ServiceError('body_too_large', { field: 'body', message })
}
