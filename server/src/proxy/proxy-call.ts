/**
 * One proxied call, step by step: who, may it, on record, token, out, back, done. Nothing reaches an upstream before
 * the attempt is committed, and nothing comes back that did not pass the redactor.
 */
import type { AuditStore } from '../audit/audit-store.ts'
import type { Agent } from '../agents/agent.ts'
import type { AgentStore } from '../agents/agent-store.ts'
import type { CallsInFlight } from '../grants/calls-in-flight.ts'
import { assertGrantIsLive } from '../grants/grant.ts'
import type { Grant } from '../grants/grant.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import { readMethod } from '../grants/method.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { takeFromLimit } from '../platform/rate-limits.ts'
import { createRedactor } from '../redaction/redactor.ts'
import { readAnswer } from './answer.ts'
import type { Answer } from './answer.ts'
import { judgeUrl, recordedParts } from './destination.ts'
import type { Destination } from './destination.ts'
import { outgoing } from './outgoing.ts'
import { assertMayCall } from './policy.ts'
import type { Refusals } from './refusals.ts'
import type { Credential, HeaderList, Route } from './upstream.ts'

export interface ProxyNeeds {
  database: Database
  agents: AgentStore
  grants: GrantStore
  audit: AuditStore
  refusals: Refusals
  callsInFlight: CallsInFlight
  routeOf: (grant: Grant) => Route
  onOutcome: (outcome: Outcome) => void
  clock: Clock
  log: Log
}

export type Outcome = 'answered' | 'failed' | 'refused'

export interface ProxyInput {
  grantId: string
  method: string
  url: string
  headers: Record<string, string>
  body: unknown
}

export interface ProxyAnswer extends Answer {
  redactions: number
  droppedHeaders: string[]
  auditId: string
}

/** A call that was judged and may go out. */
interface Call {
  grant: Grant
  route: Route
  method: string
  destination: Destination
  headers: HeaderList
  droppedHeaders: string[]
  body: Buffer | undefined
}

export async function proxyCall(
  needs: ProxyNeeds,
  agent: Agent,
  input: ProxyInput,
  requestId: string,
): Promise<ProxyAnswer> {
  const { call, auditId } = await admit(needs, agent, input, requestId)
  const startedAt = needs.clock()
  const concludes = { auditId, requestId, agentId: agent.agentId, grantId: call.grant.grantId }
  const { signal, done } = needs.callsInFlight.begin(call.grant.grantId)
  try {
    const { bytes, redactions, ...answer } = await Promise.race([carryOut(call, signal), abortOf(signal)])
    const ms = needs.clock().getTime() - startedAt.getTime()
    await conclude(needs, concludes, { outcome: 'answered', status: answer.status, bytes, ms, redactions })
    needs.onOutcome('answered')
    return { ...answer, redactions, droppedHeaders: call.droppedHeaders, auditId }
  } catch (error) {
    await conclude(needs, concludes, {
      outcome: 'failed',
      code: error instanceof ServiceError ? error.code : 'internal',
    })
    needs.onOutcome('failed')
    throw error
  } finally {
    done()
  }
}

async function carryOut(call: Call, signal: AbortSignal) {
  const credential = await call.route.credential()
  signal.throwIfAborted()
  const redactor = createRedactor(credential.secrets)
  const response = await call.route.upstream(toRequest(call, credential, signal))
  const answer = await readAnswer(response, redactor, signal)
  return { ...answer, redactions: redactor.count() }
}

/** The answer to the caller does not wait until the upstream has noticed, nor for what it then says. */
function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => {
      reject(signal.reason as ServiceError)
    })
  })
}

/** Judges the call and commits its attempt, or puts the refusal on record. */
async function admit(needs: ProxyNeeds, agent: Agent, input: ProxyInput, requestId: string) {
  const facts: Record<string, string | string[]> = {}
  const { agentId } = agent
  try {
    const call = await judge(needs, agent, input, facts)
    const auditId = await commitAttempt(needs, agent, call, facts, requestId)
    return { call, auditId }
  } catch (error) {
    if (error instanceof ServiceError) {
      const grantId = 'host' in facts ? input.grantId : undefined
      await needs.refusals.record({ agentId, code: error.code, requestId, grantId, detail: facts })
      needs.onOutcome('refused')
    }
    throw error
  }
}

async function judge(
  needs: ProxyNeeds,
  agent: Agent,
  input: ProxyInput,
  facts: Record<string, string | string[]>,
): Promise<Call> {
  const grant = await needs.grants.findOfAgent(needs.database.queries, agent.agentId, input.grantId)
  if (!grant) throw new ServiceError('grant_not_found', { field: 'grant_id' })
  const route = needs.routeOf(grant)
  const method = readMethod(input.method, 'method')
  const destination = judgeUrl(input.url, route.plainOrigin)
  Object.assign(facts, { method, ...recordedParts(destination) })
  const given = { headers: input.headers, body: input.body, bodyBase64: undefined, method }
  const { headers, dropped, body } = outgoing(given, { injects: route.injects, allowRange: false })
  assertMayCall(grant, undefined, { destination, method, headers, body }, needs.clock())
  route.judge?.()
  if (body && route.maxBodyBytes !== undefined && body.length > route.maxBodyBytes) {
    throw new ServiceError('body_too_large', { field: 'body' })
  }
  return { grant, route, method, destination, headers, droppedHeaders: dropped, body }
}

async function commitAttempt(
  { database, agents, grants, audit, clock }: ProxyNeeds,
  { agentId }: Agent,
  { grant, route }: Call,
  facts: Record<string, string | string[]>,
  requestId: string,
): Promise<string> {
  const { grantId } = grant
  return database.transaction(async (tx) => {
    const at = clock()
    if (route.rate) await takeFromLimit(tx, route.rate.key, route.rate.limit, at)
    if (!(await grants.countCall(tx, grantId, at))) {
      // It ended since it was judged: say how.
      if ((await agents.find(tx, agentId))?.disabledAt) throw new ServiceError('unauthenticated')
      const now = await grants.findOfAgent(tx, agentId, grantId)
      if (now) assertGrantIsLive(now, at)
      throw new ServiceError('grant_not_found', { field: 'grant_id' })
    }
    return audit.append(tx, { event: 'proxy.attempt', at, requestId, agentId, grantId, detail: facts })
  })
}

function toRequest({ method, destination, headers, body }: Call, { header }: Credential, signal: AbortSignal) {
  return {
    method,
    url: destination.url,
    headers: [...headers, [header.name, header.value.reveal()]] as HeaderList,
    body,
    signal,
  }
}

/** The attempt is on record; where the outcome can't be, it stays `unknown`, and the answer is not withheld for it. */
async function conclude(
  { database, audit, clock, log }: ProxyNeeds,
  call: { auditId: string; requestId: string; agentId: string; grantId: string },
  detail: Record<string, string | number>,
): Promise<void> {
  try {
    await audit.append(database.queries, { ...call, event: 'proxy.outcome', at: clock(), detail })
  } catch (error) {
    log.error({ err: error, audit_id: call.auditId }, 'an outcome could not be put on record')
  }
}
