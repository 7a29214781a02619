/** Admits a call: authorizes it and records the attempt. Or records the refusal and says what access to ask for. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Agent, CallingAgent } from '../agents/agent.ts'
import type { CallLog } from '../call-log/call-log.ts'
import { readMethod } from '../grants/grant.ts'
import { recordedNames } from '../grants/standing.ts'
import type { Standing } from '../grants/standing.ts'
import { ServiceError } from '../platform/errors.ts'
import type { LoggedIds } from '../platform/http/response-log.ts'
import { takeFromLimit } from '../platform/limits/rate-limits.ts'
import type { ProviderStore } from '../providers/provider-store.ts'
import type { Call, Known, ProxyInput, ToolDoor } from './call.ts'
import { judgeUrl } from './destination.ts'
import type { OnOutcome } from './flight.ts'
import { hashRequest, retryKey } from './idempotency.ts'
import type { KeyedCall } from './idempotency.ts'
import type { Approved, Held, Holding, LiveRepeat } from './holding.ts'
import type { Idempotency } from './idempotency-store.ts'
import { judge } from './judge.ts'
import type { JudgeNeeds } from './judge.ts'
import type { AgentLoad } from './load.ts'
import type { Claimed, Once } from './once.ts'
import { recordBytes } from './record-budget.ts'
import type { RecordBudget } from './record-budget.ts'
import type { Refusals } from './refusals.ts'
import { couldBeGranted, suggestedAccess, withSuggestedAccess } from './suggested-access.ts'
import type { SuggestedAccess } from './suggested-access.ts'
import type { UnsentAnswers } from './unsent-answers.ts'
import type { Route } from './upstream.ts'

export interface EnterNeeds {
  load: AgentLoad
  unsentAnswers: UnsentAnswers
  refusals: Refusals
  onOutcome: OnOutcome
}

export interface AdmitNeeds extends JudgeNeeds, Pick<EnterNeeds, 'refusals' | 'onOutcome'> {
  callLog: CallLog
  idempotency: Idempotency
  heldCalls: Holding
  budget: RecordBudget
  providers: Pick<ProviderStore, 'findByHost'>
}

export type Admitted =
  | { kind: 'admitted'; call: Call; once: Once | undefined }
  /** The call waits for a person, or was made before with the same Idempotency-Key. */
  | Held

export interface Admission {
  requestId: string
  idempotencyKey: string | undefined
  /** For a held call that a person has approved: it is made now, even if the grant's terms ask for a decision. */
  approved?: Approved
  /** Is filled with the ids of the grant and of the record, for the log. */
  loggedIds?: LoggedIds | undefined
  /** If its agent calls too often, the call waits for so long before it is refused. Default: it does not wait. */
  patience?: Patience
}

export interface Patience {
  ms: number
  /** Aborted once nobody waits any more. */
  gone: AbortSignal
}

/**
 * Takes one of the agent's places for calls in flight, before the call's body is read. Call the returned function once
 * the answer is sent or the connection is closed: it frees the place.
 */
export async function enter(
  needs: EnterNeeds,
  { agentId }: Agent,
  requestId: string,
  { patience, door }: { patience?: Patience; door?: ToolDoor } = {},
): Promise<() => void> {
  try {
    return await withPatience(patience, () => {
      needs.unsentAnswers.assertRoom(agentId)
      return needs.load.enter(agentId)
    })
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    await needs.refusals.record({ agentId, code: error.code, requestId, facts: door ? { door } : {} })
    needs.onOutcome('refused', undefined)
    throw error
  }
}

/** How much longer than its timeout a call may still be in flight. */
const graceMs = 10_000

export async function admit(
  needs: AdmitNeeds,
  caller: CallingAgent,
  input: ProxyInput,
  { requestId, idempotencyKey, approved, loggedIds = {}, patience }: Admission,
): Promise<Admitted> {
  const known: Known = {}
  try {
    // The key may be that of the grant's last call. Whether a call is left is decided together with the key.
    const mayBeExhausted = idempotencyKey !== undefined
    const judged = await judge(needs, caller, input, requestId, known, { mayBeExhausted })
    const call = approved ? asApproved(judged, approved) : judged
    const keyed = idempotencyKey === undefined ? undefined : keyedCall(call, idempotencyKey, needs.clock())
    if (call.standing.grant.kind === 'sandbox') await spendSandboxBudget(needs, call, keyed, caller.address)
    const once = approved?.once(call) ?? (keyed && needs.idempotency.once(keyed))
    const admitted = await withPatience(patience, () =>
      call.asks === undefined || approved
        ? recordAttempt(needs, call, once)
        : holdOrRepeat(needs, call, { keyed, once, reason: input.reason }),
    )
    if (admitted.kind === 'admitted') loggedIds['audit_id'] = call.auditId
    return admitted
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    throw await refusal(needs, caller, error, { requestId, input, known })
  } finally {
    if (known.standing) loggedIds['grant_id'] = known.standing.grant.grantId
  }
}

/** Records that a call was refused. The error says what access would allow it. */
export async function refusal(
  needs: AdmitNeeds,
  { agent: { agentId }, address }: CallingAgent,
  error: ServiceError,
  { requestId, input, known }: { requestId: string; input: ProxyInput; known: Known },
): Promise<ServiceError> {
  const { standing, facts } = known
  const names = standing && recordedNames(standing)
  await needs.refusals.record({ agentId, address, code: error.code, requestId, ...names, facts: facts ?? {} })
  needs.onOutcome('refused', standing)
  return withSuggestedAccess(error, await findSuggestedAccess(needs, error, input, standing))
}

/** Each attempt checks everything that may have changed meanwhile. */
async function withPatience<T>(patience: Patience | undefined, attempt: () => T | Promise<T>): Promise<T> {
  const until = performance.now() + (patience?.ms ?? 0)
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      const isOverRate = error instanceof ServiceError && error.code === 'rate_limited'
      const waitMs = isOverRate ? (error.retryAfterSeconds ?? 1) * 1000 : Infinity
      if (!patience || performance.now() + waitMs > until) throw error
      await sleep(waitMs, undefined, { signal: patience.gone }).catch(() => undefined)
      if (patience.gone.aborted) throw error
    }
  }
}

/** The access that would allow the call. Reads URL and method itself: the call may have been refused before that. */
async function findSuggestedAccess(
  { database, providers }: AdmitNeeds,
  error: ServiceError,
  { url, method }: ProxyInput,
  standing: Standing | undefined,
): Promise<SuggestedAccess | undefined> {
  if (!couldBeGranted(error)) return undefined
  try {
    const destination = judgeUrl(url, undefined)
    const { host } = destination
    const provider = standing ? standing.provider : await providers.findByHost(database.queries, host)
    if (standing && provider?.status !== 'active') return undefined
    return suggestedAccess(error, provider, { destination, method: readMethod(method, 'method') })
  } catch (fault) {
    // No access would allow a call that is malformed.
    if (fault instanceof ServiceError) return undefined
    throw fault
  }
}

/** For an attempt, its outcome and, with a key, the answer, which echoes the body. */
async function spendSandboxBudget(
  { budget }: AdmitNeeds,
  { agentId, facts, body }: Call,
  keyed: KeyedCall | undefined,
  address: string | undefined,
): Promise<void> {
  const answerBytes = keyed ? 4096 + 2 * (body?.length ?? 0) : 0
  const bytes = 2 * recordBytes + JSON.stringify(facts).length + answerBytes
  if (await budget.trySpend({ agentId, address }, bytes)) return
  const message = 'The sandbox has reached its daily storage limit. Call less often, or try again tomorrow.'
  throw new ServiceError('rate_limited', { retryAfterSeconds: 600, message })
}

function withoutRate(route: Route): Route {
  const others = { ...route }
  delete others.rate
  return others
}

/** Its rate was counted when it was held. */
function asApproved(call: Call, { callId }: Approved): Call {
  return { ...call, route: withoutRate(call.route), facts: { ...call.facts, call_id: callId } }
}

/** Records the attempt, unless the call was made before or waits for a person. */
async function recordAttempt(needs: AdmitNeeds, call: Call, once: Once | undefined): Promise<Admitted> {
  const { callLog, heldCalls } = needs
  const claimed = once ? await claim(needs, call, once) : undefined
  if (!claimed) await callLog.begin(call)
  if (claimed?.kind === 'held') return heldCalls.resultOf(call.agentId, claimed.callId)
  return claimed?.kind === 'stored' ? claimed : { kind: 'admitted', call, once }
}

async function claim(
  { callLog, clock }: AdmitNeeds,
  call: Call,
  once: Once,
): Promise<Exclude<Claimed, { kind: 'new' }> | { kind: 'begun' }> {
  const { rate } = call.route
  try {
    const earlier = await callLog.beginUnless(call, async (tx) => {
      const claimed = await once.claim(tx, clock())
      if (claimed.kind === 'new') return undefined
      // A repeated answer counts against the rate too.
      if (rate) await takeFromLimit(tx, rate.key, rate.limit, clock())
      return claimed
    })
    if (earlier) once.ended()
    return earlier ?? { kind: 'begun' }
  } catch (error) {
    once.ended()
    throw error
  }
}

/** For a call that a person has to approve: holds it, or makes it if an approval that repeats covers it. */
async function holdOrRepeat(
  needs: AdmitNeeds,
  call: Call,
  { keyed, once, reason }: { keyed: KeyedCall | undefined; once: Once | undefined; reason: string | undefined },
): Promise<Admitted> {
  const claimed = call.facts.door ? { ...keyedCall(call, '', needs.clock()), ...retryKey(call) } : keyed
  for (;;) {
    const held = await needs.heldCalls.hold(call, { keyed: claimed, reason })
    if (held.kind !== 'repeat') return held
    const repeated = { ...call, facts: { ...call.facts, repeat_id: held.repeatId } }
    try {
      const admitted = await recordAttempt(needs, repeated, usingRepeat(held, once))
      // Only the key has something to store.
      return admitted.kind === 'admitted' ? { ...admitted, once } : admitted
    } catch (error) {
      if (!(error instanceof RepeatOver)) throw error
    }
  }
}

/** The last of its calls was made, or it was revoked, at the same moment. */
class RepeatOver extends Error {}

function usingRepeat({ use }: LiveRepeat, once: Once | undefined): Once {
  return {
    conclude: () => Promise.resolve(),
    failed: () => undefined,
    ended: () => undefined,
    ...once,
    claim: async (tx, now) => {
      const claimed = (await once?.claim(tx, now)) ?? { kind: 'new' }
      if (claimed.kind === 'new' && !(await use(tx, now))) throw new RepeatOver()
      return claimed
    },
  }
}

function keyedCall(call: Call, key: string, now: Date): KeyedCall {
  const { agentId, auditId, destination, timeoutMs, standing } = call
  return {
    agentId,
    grantId: standing.grant.grantId,
    key,
    requestHash: hashRequest({ ...call, url: destination.url }),
    auditId,
    deadline: new Date(now.getTime() + timeoutMs + graceMs),
  }
}
