/** A call under way: what ends it early, and what has to be done once it is over, however it ended. */
import type { CallsInFlight } from '../grants/calls-in-flight.ts'
import type { Standing } from '../grants/standing.ts'
import type { Clock } from '../platform/clock.ts'
import { ServiceError } from '../platform/errors.ts'
import type { StopSignal } from '../platform/stop-signal.ts'
import type { Call } from './call.ts'
import type { KeyedCall } from './idempotency.ts'
import type { Idempotency } from './idempotency-store.ts'
import type { CallLog } from '../call-log/call-log.ts'
import { joined } from './whole-answer.ts'
import type { Envelope } from './whole-answer.ts'

export interface FlightNeeds {
  callLog: CallLog
  idempotency: Idempotency
  callsInFlight: CallsInFlight
  onOutcome: OnOutcome
  clock: Clock
}

export type Outcome = 'answered' | 'failed' | 'refused'
/** `standing` where it is known whose call it was, `seen` of one that was answered. */
export type OnOutcome = (outcome: Outcome, standing: Standing | undefined, seen?: Seen) => void

/** What was seen of an answer, for the record. */
export interface Seen {
  status: number
  bytes: number
  redactions: number
}

export interface Flight {
  /** Aborted once the call may not go on; its reason is the error to answer with. */
  signal: StopSignal
  /** Ends it for another reason. */
  abort: (reason: Error) => void
  /** From here on the upstream may have heard of it. */
  leavesNow: () => void
  /**
   * Only the first call of `answered` or `failed` has an effect. With an Idempotency-Key it resolves once the answer is
   * stored; otherwise there is no need to wait for it. `envelope` is what a repetition of the call gets.
   */
  answered: (seen: Seen, envelope?: Envelope) => Promise<void>
  /** Aborts the call: nobody will read an answer that is still coming. */
  failed: (error: Error) => Promise<void>
}

/** The caller hung up: nobody reads the answer any more. */
export class CallerGone extends Error {
  constructor() {
    super('the caller has hung up')
    this.name = 'CallerGone'
  }
}

/** The call was under way when the service stopped. */
export class ServiceStopped extends Error {
  constructor() {
    super('the service stopped')
    this.name = 'ServiceStopped'
  }
}

export function takeOff(needs: FlightNeeds, call: Call, keyed: KeyedCall | undefined): Flight {
  const { callLog, idempotency, clock } = needs
  const startedAt = clock().getTime()
  const { signal, abort, done } = needs.callsInFlight.begin(call.standing.grant.grantId, call.tokenHash)
  let hasLeft = false
  let hasLanded = false
  /** False where the call is over already: how it ended is said once. */
  const land = (): boolean => {
    if (hasLanded) return false
    hasLanded = true
    done()
    return true
  }
  const ms = () => clock().getTime() - startedAt

  return {
    signal,
    abort,
    leavesNow: () => {
      hasLeft = true
    },
    answered: async (seen, envelope) => {
      if (!land()) return
      const detail = { ...seen, ms: ms() }
      needs.onOutcome('answered', call.standing, seen)
      if (!keyed) {
        void callLog.end(call, 'answered', detail)
        return
      }
      const kept = envelope === undefined ? undefined : joined(envelope)
      await callLog.end(call, 'answered', detail, (tx) => idempotency.conclude(tx, keyed, kept, clock()))
      idempotency.ended(keyed)
    },
    failed: async (error) => {
      if (!land()) return
      abort(error)
      needs.onOutcome('failed', call.standing)
      // The first reason: errors that follow are caused by the abort.
      const detail = { code: codeOf(signal.reason), ms: ms() }
      // What certainly never went out may be tried again under the same key.
      const settle =
        keyed && !hasLeft ? (tx: Parameters<Idempotency['forget']>[0]) => idempotency.forget(tx, keyed) : undefined
      await callLog.end(call, 'failed', detail, settle)
      if (keyed) idempotency.ended(keyed)
    },
  }
}

function codeOf(error: unknown): string {
  if (error instanceof CallerGone) return 'caller_gone'
  if (error instanceof ServiceStopped) return 'service_stopped'
  return error instanceof ServiceError ? error.code : 'internal'
}
