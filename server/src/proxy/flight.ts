/** A call in flight: what ends it early, and what is done when it is over, however it ended. */
import type { CallLog } from '../call-log/call-log.ts'
import type { CallsInFlight } from '../grants/calls-in-flight.ts'
import type { Standing } from '../grants/standing.ts'
import type { Clock } from '../platform/clock.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Call } from './call.ts'
import type { Once } from './once.ts'
import { whyUncovered } from './policy.ts'
import { toBuffer } from './whole-answer.ts'
import type { Envelope } from './whole-answer.ts'

export interface FlightNeeds {
  callLog: CallLog
  callsInFlight: CallsInFlight
  onOutcome: OnOutcome
  clock: Clock
}

export type Outcome = 'answered' | 'failed' | 'refused'
/** `standing` is undefined if it is not known whose call it was. `seen` is given if it was answered. */
export type OnOutcome = (outcome: Outcome, standing: Standing | undefined, seen?: Seen) => void

/** What was seen of an answer, for the record. */
export interface Seen {
  status: number
  bytes: number
  redactions: number
}

export interface Flight {
  /** Aborted when the call must end. Its reason is the error to answer with. */
  signal: AbortSignal
  abort: (reason: Error) => void
  /** Call it right before a request goes out: from then on its host may have received it. */
  markSent: (call: Call) => void
  /**
   * Only the first call of `answered` or `failed` has an effect. For a call that is made at most once it resolves
   * once the answer is stored; otherwise there is no need to wait for it. `envelope` is what a repetition of the call gets.
   */
  answered: (seen: Seen, envelope?: Envelope) => Promise<void>
  /** Aborts the call: nobody will read an answer that is still coming. */
  failed: (error: Error) => Promise<void>
  /** The same because the caller is gone. Cheap if the call is over, as it usually is. */
  givenUp: () => Promise<void>
}

/** The caller closed the connection, or the service stopped: nobody reads the answer any more. */
export class CallAborted extends Error {
  readonly code: 'caller_gone' | 'service_stopped'

  constructor(code: CallAborted['code']) {
    super(code)
    this.name = 'CallAborted'
    this.code = code
  }
}

export function startFlight(needs: FlightNeeds, call: Call, once: Once | undefined): Flight {
  const { callLog, clock } = needs
  const startedAt = clock().getTime()
  /** After a redirect another one. */
  let current = call
  const { controller, isAt, done } = needs.callsInFlight.begin(call.standing.grant, {
    tokenHash: call.tokenHash,
    keyHash: call.keyHash,
    whyUncovered: (grant) => whyUncovered(grant, current),
  })
  let isSent = false
  let isOver = false
  /** False if the call was over already: its outcome is recorded once. */
  const tryFinish = (): boolean => {
    if (isOver) return false
    isOver = true
    done()
    return true
  }
  const ms = () => clock().getTime() - startedAt

  const failed: Flight['failed'] = async (error) => {
    if (!tryFinish()) return
    controller.abort(error)
    needs.onOutcome('failed', call.standing)
    // The first reason: errors that follow are caused by the abort.
    const detail = { code: codeOf(controller.signal.reason), ms: ms() }
    const also = once?.failed(controller.signal.reason as Error, isSent)
    await callLog.end(call, 'failed', detail, also && ((tx) => also(tx, clock())))
    once?.ended()
  }

  return {
    signal: controller.signal,
    abort: (reason) => {
      controller.abort(reason)
    },
    markSent: (sent) => {
      isSent = true
      current = sent
      // No provider lists the hosts of calls without a credential.
      if (!call.isOpen) isAt(sent.destination.host)
    },
    answered: async (seen, envelope) => {
      if (!tryFinish()) return
      const detail = { ...seen, ms: ms() }
      needs.onOutcome('answered', call.standing, seen)
      if (!once) {
        void callLog.end(call, 'answered', detail)
        return
      }
      const kept = envelope === undefined ? undefined : toBuffer(envelope)
      await callLog.end(call, 'answered', detail, (tx) => once.conclude(tx, kept, seen, clock()))
      once.ended()
    },
    failed,
    givenUp: async () => {
      if (!isOver) await failed(new CallAborted('caller_gone'))
    },
  }
}

function codeOf(error: unknown): string {
  return error instanceof ServiceError || error instanceof CallAborted ? error.code : 'internal'
}
