/**
 * Makes calls that a person has approved, through the same pipeline as every other call. The attempt's own transaction
 * decides whether a call is made: it is there that one of all instances gets it, and that everything is judged again. No
 * state leads back from there, so a call is never sent twice.
 */
import type { AgentStore } from '../agents/agent-store.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import { createActiveSet } from '../platform/active-set.ts'
import type { Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { createSemaphore } from '../platform/limits/semaphore.ts'
import type { Log } from '../platform/operations/log.ts'
import type { Call, ProxyInput } from '../proxy/call.ts'
import { CallAborted } from '../proxy/flight.ts'
import { maxHeldBytes } from '../proxy/holding.ts'
import type { Once } from '../proxy/once.ts'
import { proxyCall } from '../proxy/proxy-call.ts'
import type { ProxyNeeds } from '../proxy/proxy-call.ts'
import { describeCall, digestOf } from './describe-call.ts'
import { bounds } from './held-call.ts'
import type { CallError, HeldCall, HeldRequest } from './held-call.ts'
import type { HeldCallStore } from './held-call-store.ts'
import { settle, settleUnsent } from './settle.ts'
import type { SettleNeeds } from './settle.ts'
import type { Waiting } from './waiting.ts'

export interface RunNeeds extends ProxyNeeds, SettleNeeds {
  agents: AgentStore
  grants: GrantStore
  heldCallStore: HeldCallStore
  waiting: Waiting
  log: Log
}

export interface Runner {
  /** Call it once an approval is committed. */
  start: (callId: string) => void
  /** Starts approved calls that no instance has started. */
  due: () => Promise<void>
  /** Starts no more; resolves once none is running. */
  ended: () => Promise<void>
}

const atOnce = 100
/** The instance that took the decision starts the call. The others wait for it for so long. */
const patienceMs = 2_000
/** How much longer than its timeout a call may still be in flight. */
const graceMs = 10_000
const mostAtATime = 100

export function createRunner(needs: RunNeeds): Runner {
  const { database, heldCallStore, clock, log } = needs
  const running = createActiveSet<{ callId: string; done: Promise<void> }>()
  const places = createSemaphore(atOnce)
  let isEnding = false

  const run = async (callId: string) => {
    const release = await places.acquire()
    try {
      const call = isEnding ? undefined : await heldCallStore.find(database.queries, callId, clock())
      if (call?.status === 'approved') await makeCall(needs, call)
      else if (call) await settle(needs, callId)
    } catch (error) {
      if (!(error instanceof NotOurs)) log.error({ err: error, call_id: callId }, 'an approved call could not be made')
    } finally {
      release()
      needs.waiting.tell(callId)
    }
  }
  const start = (callId: string) => {
    if (isEnding || running.all().some((one) => one.callId === callId)) return
    const done = run(callId)
    void done.finally(running.add({ callId, done }))
  }

  return {
    start,
    due: async () => {
      const now = clock()
      const before = new Date(now.getTime() - patienceMs)
      for (const callId of await heldCallStore.listToStart(database.queries, before, now, mostAtATime)) start(callId)
    },
    ended: async () => {
      isEnding = true
      await Promise.all(running.all().map(({ done }) => done))
    },
  }
}

/** Another instance has started the call, or it is too late to start it. */
class NotOurs extends Error {}

async function makeCall(needs: RunNeeds, held: HeldCall): Promise<void> {
  const { database, agents, heldCallStore, clock } = needs
  const agent = await agents.find(database.queries, held.agentId)
  const request = await heldCallStore.openRequest(database.queries, held)
  if (!agent || !request) throw new NotOurs()
  const closing: (() => void)[] = []
  try {
    const caller = { agent, tokenHash: held.tokenHash, address: undefined }
    await proxyCall(needs, caller, inputOf(held, request), {
      requestId: newId('req', clock()),
      idempotencyKey: undefined,
      approved: { callId: held.callId, once: (call) => onceApproved(needs, held, withDropped(call, request)) },
      onClosed: (then) => {
        closing.push(() => {
          then(true)
        })
      },
      times: { startedAt: performance.now() },
      naming: { for: 'caller', isPrefixed: false, ownHosts: [] },
      maxAnswerBytes: maxHeldBytes,
    })
  } catch (error) {
    // From the attempt on, the outcome's transaction has recorded what became of the call.
    if (error instanceof ServiceError) await settleUnsent(needs, held, error)
    else if (!(error instanceof CallAborted)) throw error
  } finally {
    for (const close of closing) close()
  }
}

export function inputOf(
  { grantId }: HeldCall,
  { method, url, headers, body, timeoutMs, aws, door }: HeldRequest,
): ProxyInput {
  return {
    ...(door && { door }),
    grantId,
    method,
    url,
    headers: Object.fromEntries(headers),
    body: undefined,
    bodyBase64: body ?? undefined,
    timeoutMs: timeoutMs ?? undefined,
    followRedirects: false,
    stream: false,
    ...(aws && { aws }),
  }
}

/** The agent reads in the response which of its headers were not sent. */
function withDropped(call: Call, { droppedHeaders }: HeldRequest): Call {
  return Object.assign(call, { droppedHeaders })
}

function onceApproved({ grants, heldCallStore, idempotency }: RunNeeds, held: HeldCall, call: Call): Once {
  const { callId } = held
  return {
    claim: async (tx, now) => {
      const deadline = new Date(now.getTime() + call.timeoutMs + graceMs)
      if (!(await heldCallStore.start(tx, { callId, auditId: call.auditId, deadline }, now))) throw new NotOurs()
      await assertIsDecided(grants, tx, held, call)
      return { kind: 'new' }
    },
    conclude: async (tx, answer, { status }, now) => {
      const room = bounds.bytesOfAgent - (await heldCallStore.bytesOf(tx, held.agentId))
      const response = answer && answer.length <= room ? answer : undefined
      await heldCallStore.conclude(tx, held, { response, upstreamStatus: status }, now)
    },
    failed: (error, isSent) => async (tx, now) => {
      const to = isSent && error instanceof CallAborted ? 'unknown' : 'done'
      await heldCallStore.end(tx, callId, ['running', 'unknown'], to, now, { isSent, error: toError(error) })
      if (!isSent) await idempotency.forgetHeld(tx, callId)
    },
    ended: () => undefined,
  }
}

/** Throws unless this is exactly the call that was decided on. */
export async function assertIsDecided(
  grants: GrantStore,
  queries: Queries,
  { digest, grantId }: HeldCall,
  call: Call,
): Promise<void> {
  const described = (await grants.describe(queries, [grantId])).get(grantId)
  if (digestOf(describeCall(call, described?.accountLabel ?? null)) === digest) return
  const message = 'The call is not what it was when it was held: its account, its provider or its access class changed.'
  throw new ServiceError('decision_mismatch', { message })
}

function toError(error: Error): CallError {
  if (error instanceof CallAborted) {
    return { code: 'not_ready', message: 'The service stopped before the call was sent. Make it again.' }
  }
  if (!(error instanceof ServiceError)) return { code: 'internal' }
  const { code, publicMessage } = error
  if (code === 'upstream_body_too_large') {
    return {
      code,
      message: 'The call was made, but its response is larger than the 1 MiB that is kept for such a call.',
    }
  }
  return publicMessage === undefined ? { code } : { code, message: publicMessage }
}
