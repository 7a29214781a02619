/**
 * Waits for a call that a person has to approve. The service makes it once they have, whether anyone waits or not, so a
 * caller that gives up cancels it.
 */
import { SallyportError } from '../errors.ts'
import type { WaitingCall } from '../errors.ts'
import { listing } from '../listing.ts'
import type { Listing } from '../listing.ts'
import { pause, timerMs } from '../retrying.ts'
import { segment } from '../transport.ts'
import type { CallOptions, Transport } from '../transport.ts'
import type { AgentCall, AgentCallPage, HeldReply, ListCallsQuery, ProxyReply } from '../wire.ts'
import { callPending, replyOf, waitingCall } from './call-outcome.ts'

export interface WaitForCallOptions {
  signal?: AbortSignal | undefined
  /**
   * How long to wait for a person, if the call has to be approved. By default until it expires. Afterwards
   * `approval_pending` is thrown, and the call stays open: `calls.wait` waits on. With 0 it is thrown immediately.
   */
  waitMs?: number | undefined
}

export interface HeldCallOptions extends WaitForCallOptions {
  /** Called if the call has to be approved. Show the person `approvalUrl`: they decide there. */
  onWaiting?: ((call: WaitingCall) => void) | undefined
}

/** The agent's calls that a person has to approve. */
export interface AgentCalls {
  get: (callId: string, options?: CallOptions) => Promise<AgentCall>
  list: (query?: ListCallsQuery, options?: CallOptions) => Listing<AgentCallPage, AgentCall>
  /** Waits for the response of a call. Throws what `proxy` would throw. An abort ends the waiting, not the call. */
  wait: (callId: string, options?: WaitForCallOptions) => Promise<ProxyReply>
  /** Cancels a call that was not made yet. */
  cancel: (callId: string, options?: CallOptions) => Promise<AgentCall>
}

export interface HeldCalls extends AgentCalls {
  /** Waits for a call that this client has just made, and cancels it if the caller gives up. */
  settle: (held: HeldReply, options: HeldCallOptions) => Promise<ProxyReply>
}

/** Of one long poll. Longer ones may be cut off by a proxy in front of the service. */
const longestLookSeconds = 50
/** How much longer than that the service may take to answer. */
const graceMs = 15_000
/** If something on the way does not let an answer wait, look this often. */
const shortestTurnMs = 1000
/** Consecutive failures to tolerate: enough time for the service to restart. */
const mostFailures = 20
const cancelMs = 3000

export function heldCallsOf(transport: Transport): HeldCalls {
  const pathOf = (id: string) => `/v4/calls/${segment(id)}`
  const get = (id: string, options?: CallOptions) =>
    transport.json<AgentCall>({ method: 'GET', path: pathOf(id) }, options)
  const cancel = (id: string, options?: CallOptions) =>
    transport.json<AgentCall>({ method: 'POST', path: `${pathOf(id)}/cancel`, body: {} }, options)
  /** Equal calls share an id: the last one to give up cancels it. */
  const waiting = new Map<string, number>()

  const look = (id: string, seconds: number, signal: AbortSignal | undefined) =>
    transport.json<AgentCall>(
      { method: 'GET', path: pathOf(id), headers: { prefer: `wait=${seconds}` } },
      { signal, timeoutMs: seconds * 1000 + graceMs },
    )

  async function wait(id: string, { signal, waitMs }: WaitForCallOptions = {}): Promise<ProxyReply> {
    // Monotonic clock: the system time may change meanwhile.
    const until = waitMs === undefined ? Infinity : performance.now() + timerMs(waitMs)
    let failures = 0
    for (;;) {
      const startedAt = performance.now()
      const leftMs = until - startedAt
      const seconds = Math.min(Math.max(Math.ceil(leftMs / 1000), 0), longestLookSeconds)
      const call = await (seconds === 0 ? get(id, { signal }) : look(id, seconds, signal)).catch((error: unknown) => {
        if (++failures > mostFailures || !(error instanceof SallyportError) || !error.retryable) throw error
        return undefined
      })
      if (call) {
        failures = 0
        const reply = replyOf(call)
        if (reply) return reply
        if (performance.now() >= until) throw callPending(call)
      }
      const turnMs = call ? shortestTurnMs : Math.min(shortestTurnMs * 2 ** failures, 30_000)
      await pause(Math.max(0, turnMs - (performance.now() - startedAt)), signal)
    }
  }

  async function settle(held: HeldReply, { signal, waitMs, onWaiting }: HeldCallOptions): Promise<ProxyReply> {
    const { call_id: id } = held
    waiting.set(id, (waiting.get(id) ?? 0) + 1)
    let isGivenUp = false
    try {
      signal?.throwIfAborted()
      onWaiting?.(waitingCall(held))
      if (waitMs === 0) throw callPending(held)
      return await wait(id, { signal, waitMs })
    } catch (error) {
      // What became of the call, or that it still waits, is the answer. Anything else is a caller that will not ask again.
      isGivenUp = !(error instanceof SallyportError && error.call !== undefined)
      throw error
    } finally {
      const others = (waiting.get(id) ?? 1) - 1
      if (others > 0) waiting.set(id, others)
      else {
        waiting.delete(id)
        if (isGivenUp) await cancel(id, { timeoutMs: cancelMs }).catch(() => undefined)
      }
    }
  }

  return {
    get,
    list: (query, options) => listing<AgentCallPage, 'calls'>(transport, '/v4/calls', 'calls', query, options),
    wait,
    cancel,
    settle,
  }
}
