/** Lets a call in: judged, and its attempt on record; or puts the refusal on record, and shows the way. */
import type { Agent, CallingAgent } from '../agents/agent.ts'
import { readMethod } from '../grants/method.ts'
import { recordedNames } from '../grants/standing.ts'
import type { Standing } from '../grants/standing.ts'
import { ServiceError } from '../platform/errors.ts'
import type { LoggedIds } from '../platform/http/response-log.ts'
import { takeFromLimit } from '../platform/limits/rate-limits.ts'
import type { ProviderStore } from '../providers/provider-store.ts'
import type { Call, Known, ProxyInput } from './call.ts'
import { judgeUrl } from './destination.ts'
import type { OnOutcome } from './flight.ts'
import { hashRequest } from './idempotency.ts'
import type { KeyedCall } from './idempotency.ts'
import type { Idempotency } from './idempotency-store.ts'
import { judge } from './judge.ts'
import type { JudgeNeeds } from './judge.ts'
import type { CallLog } from '../call-log/call-log.ts'
import type { AgentLoad } from './load.ts'
import { recordBytes } from './record-budget.ts'
import type { RecordBudget } from './record-budget.ts'
import type { Refusals } from './refusals.ts'
import { isLiftable, requestable, showingTheWay } from './requestable.ts'
import type { AccessWanted } from './requestable.ts'
import type { UnsentAnswers } from './unsent-answers.ts'

export interface EnterNeeds {
  load: AgentLoad
  unsentAnswers: UnsentAnswers
  refusals: Refusals
  onOutcome: OnOutcome
}

export interface AdmitNeeds extends JudgeNeeds, Pick<EnterNeeds, 'refusals' | 'onOutcome'> {
  callLog: CallLog
  idempotency: Idempotency
  budget: RecordBudget
  providers: Pick<ProviderStore, 'findByHost'>
}

export type Admitted =
  | { kind: 'admitted'; call: Call; keyed: KeyedCall | undefined }
  /** The call was made before, under the same key. */
  | { kind: 'stored'; envelope: Buffer }

export interface Admission {
  requestId: string
  idempotencyKey: string | undefined
  /** Gets the ids of the grant and of the record, for the log. */
  loggedIds?: LoggedIds | undefined
}

/**
 * Takes one of the agent's places before the call's body is read. What it returns gives the place back, once the answer
 * is sent or the connection closed.
 */
export async function enter(needs: EnterNeeds, { agentId }: Agent, requestId: string): Promise<() => void> {
  try {
    needs.unsentAnswers.assertRoom(agentId)
    return needs.load.enter(agentId)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    await needs.refusals.record({ agentId, code: error.code, requestId, facts: {} })
    needs.onOutcome('refused', undefined)
    throw error
  }
}

/** A call may still be read for a while after its time is up. */
const lingersMs = 10_000

export async function admit(
  needs: AdmitNeeds,
  caller: CallingAgent,
  input: ProxyInput,
  { requestId, idempotencyKey, loggedIds = {} }: Admission,
): Promise<Admitted> {
  const known: Known = {}
  const { agentId } = caller.agent
  try {
    // The key may be that of the grant's last call; whether there is one left is settled with the key.
    const mayBeExhausted = idempotencyKey !== undefined
    const call = await judge(needs, caller, input, requestId, known, { mayBeExhausted })
    const keyed = idempotencyKey === undefined ? undefined : keyedCall(call, idempotencyKey, needs.clock())
    if (call.standing.grant.kind === 'sandbox') await spendSandboxBudget(needs, call, keyed)
    const stored = await putOnRecord(needs, call, keyed)
    if (stored !== undefined) return { kind: 'stored', envelope: stored }
    loggedIds['audit_id'] = call.auditId
    return { kind: 'admitted', call, keyed }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const { standing, facts } = known
    const names = standing && recordedNames(standing)
    await needs.refusals.record({ agentId, code: error.code, requestId, ...names, facts: facts ?? {} })
    needs.onOutcome('refused', standing)
    throw showingTheWay(error, await accessWanted(needs, error, input, standing))
  } finally {
    if (known.standing) loggedIds['grant_id'] = known.standing.grant.grantId
  }
}

/** What to ask for, so that the call could be made. The call may not have been read as far as that when it was refused. */
async function accessWanted(
  { database, providers }: AdmitNeeds,
  error: ServiceError,
  { url, method }: ProxyInput,
  standing: Standing | undefined,
): Promise<AccessWanted | undefined> {
  if (!isLiftable(error)) return undefined
  try {
    const destination = judgeUrl(url, undefined)
    const provider = standing ? activeOf(standing) : await providers.findByHost(database.queries, destination.host)
    return requestable(error, provider, { destination, method: readMethod(method, 'method') })
  } catch (fault) {
    // Nothing that could be asked for would make such a call.
    if (fault instanceof ServiceError) return undefined
    throw fault
  }
}

function activeOf({ provider }: Standing): Standing['provider'] {
  return provider?.status === 'active' ? provider : null
}

/** An attempt, its outcome and, with a key, the answer, which echoes the body. */
async function spendSandboxBudget(
  { budget }: AdmitNeeds,
  { agentId, facts, body }: Call,
  keyed: KeyedCall | undefined,
): Promise<void> {
  const answerBytes = keyed ? 4096 + 2 * (body?.length ?? 0) : 0
  if (await budget.trySpend(agentId, 2 * recordBytes + JSON.stringify(facts).length + answerBytes)) return
  const message = 'The sandbox has recorded as much as it may for today. Call less often, or try again tomorrow.'
  throw new ServiceError('rate_limited', { retryAfterSeconds: 600, message })
}

/** The envelope of the answer that was given before, where there is one. */
async function putOnRecord(
  { callLog, idempotency, clock }: AdmitNeeds,
  call: Call,
  keyed: KeyedCall | undefined,
): Promise<Buffer | undefined> {
  if (!keyed) {
    await callLog.begin(call)
    return undefined
  }
  const { rate } = call.route
  try {
    return await callLog.beginUnless(call, async (tx) => {
      const claimed = await idempotency.claim(tx, keyed, clock())
      if (claimed.kind === 'new') return undefined
      // An answer that is given again is work too.
      if (rate) await takeFromLimit(tx, rate.key, rate.limit, clock())
      return Buffer.from(claimed.answer.reveal())
    })
  } catch (error) {
    idempotency.ended(keyed)
    throw error
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
    deadline: new Date(now.getTime() + timeoutMs + lingersMs),
  }
}
