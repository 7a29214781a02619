/**
 * A call that reaches the upstream at most once. It is claimed in the transaction that records its attempt, and concluded
 * in the one that records its outcome. There are two: a call with an Idempotency-Key (idempotency-store.ts), and one that
 * a person has approved (held-calls/run.ts).
 */
import type { Queries } from '../platform/database/database.ts'
import type { Seen } from './flight.ts'

export type Claimed =
  | { kind: 'new' }
  /** It was made before. */
  | { kind: 'stored'; envelope: Buffer }
  /** It waits for a person, or has been made after a person approved it. */
  | { kind: 'held'; callId: string }

export interface Once {
  /** Throws if the call must not be made. */
  claim: (tx: Queries, now: Date) => Promise<Claimed>
  /** Before the answer is sent. `answer` is undefined if it is not to be stored, as of a stream. */
  conclude: (tx: Queries, answer: Buffer | undefined, seen: Seen, now: Date) => Promise<void>
  /** What to store of a call that failed. `isSent`: it may have reached the upstream. Undefined: nothing. */
  failed: (error: Error, isSent: boolean) => ((tx: Queries, now: Date) => Promise<void>) | undefined
  /** When a claimed call is over, however it ended. Without an outcome it is unknown from then on. */
  ended: () => void
}
