/**
 * Holds a call until a person decides: stored sealed, recorded and announced in one transaction. Nothing of it stays in
 * memory.
 */
import type { AgentStore } from '../agents/agent-store.ts'
import type { AuditWriter } from '../audit/audit-log.ts'
import type { Config } from '../config/config.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import { recordedNames } from '../grants/standing.ts'
import type { StandingStore } from '../grants/standing-store.ts'
import { assertUsable } from '../grants/usable.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { perHour, takeFromLimit } from '../platform/limits/rate-limits.ts'
import { isVerified } from '../providers/provider.ts'
import type { Call } from '../proxy/call.ts'
import { maxHeldBytes, tooLargeToHold } from '../proxy/holding.ts'
import type { Held, Holding, LiveRepeat } from '../proxy/holding.ts'
import type { KeyedCall } from '../proxy/idempotency.ts'
import type { Idempotency } from '../proxy/idempotency-store.ts'
import type { UserStore } from '../sessions/user-store.ts'
import { describeCall, digestOf, repeatHash } from './describe-call.ts'
import { bounds } from './held-call.ts'
import type { HeldCall, HeldRequest, Shown } from './held-call.ts'
import type { HeldCallStore } from './held-call-store.ts'
import type { HeldMetrics } from './held-metrics.ts'
import { notifyOfCall } from './notify.ts'
import type { NotifyNeeds } from './notify.ts'
import type { RepeatStore } from './repeat-store.ts'
import { collectResult, isPast, resultOf } from './result.ts'
import { shownBody } from './summary/shown-body.ts'
import { summarise } from './summary/summarise.ts'

export interface HoldNeeds extends NotifyNeeds {
  config: NotifyNeeds['config'] & Pick<Config, 'heldCallSeconds'>
  database: Database
  agents: AgentStore
  users: UserStore
  grants: GrantStore
  standings: StandingStore
  idempotency: Idempotency
  heldCallStore: HeldCallStore
  repeats: RepeatStore
  audit: AuditWriter
  heldMetrics: HeldMetrics
  /** A push may be due. */
  onHeld: () => unknown
  clock: Clock
}

type Given = Parameters<Holding['hold']>[1]

export async function holdCall(needs: HoldNeeds, call: Call, given: Given): Promise<Held | LiveRepeat> {
  const { database, grants, repeats, clock } = needs
  if (call.body && call.body.length > maxHeldBytes) throw tooLargeToHold()
  const { grantId } = call.standing.grant
  const described = (await grants.describe(database.queries, [grantId])).get(grantId)
  const description = describeCall(call, described?.accountLabel ?? null)
  const shown = shownOf(call, description, given.reason)
  if (shown.repeatScope !== null) {
    const repeatId = await repeats.findFor(database.queries, repeatHash(description, shown.repeatScope), clock())
    if (repeatId !== undefined) {
      return { kind: 'repeat', repeatId, use: (tx, now) => repeats.use(tx, repeatId, now) }
    }
  }
  const digest = digestOf(description)
  const { provider } = call.standing
  const isKnown = provider !== null && isVerified(provider)
  const providerName = isKnown ? (described?.providerName ?? null) : `${call.destination.host} (unverified)`
  const agentName = described?.agentName ?? ''
  const entered = await database.transaction((tx) =>
    enter(needs, tx, call, given.keyed, { digest, shown, providerName, agentName }),
  )
  if (entered.kind === 'known') {
    const { callId } = entered
    if (call.facts.door === undefined) return resultOf(needs, call.agentId, callId)
    if (!(await isPast(needs, callId))) return collectResult(needs, call.agentId, callId)
    await database.transaction((tx) => needs.idempotency.forgetRetries(tx, callId))
    return holdCall(needs, call, given)
  }
  if (entered.kind === 'held' && entered.isNew) {
    needs.heldMetrics.onEvent('held')
    needs.onHeld()
  }
  return entered
}

interface Entering {
  digest: string
  shown: Omit<Shown, 'body'>
  providerName: string | null
  agentName: string
}
type Entered =
  | { kind: 'known'; callId: string }
  | { kind: 'stored'; envelope: Buffer }
  | { kind: 'held'; callId: string; expiresAt: Date; isNew: boolean }

/** The agent's row is locked, so its calls are held one at a time. */
async function enter(
  needs: HoldNeeds,
  tx: Queries,
  call: Call,
  keyed: KeyedCall | undefined,
  { digest, shown, providerName, agentName }: Entering,
): Promise<Entered> {
  const { database, agents, heldCallStore, idempotency, audit } = needs
  const { agentId, tokenHash, standing } = call
  const now = needs.clock()
  if (!(await agents.lockWithToken(database, tx, agentId, tokenHash))) throw new ServiceError('unauthenticated')
  const current = await needs.standings.find(tx, agentId, standing.grant.grantId)
  if (!current) throw new ServiceError('grant_not_found', { field: 'grant_id' })
  // The key may be that of the grant's last call.
  assertUsable({ ...current, isTokenCurrent: true }, now, { mayBeExhausted: true })
  const identical = await heldCallStore.findIdentical(tx, { agentId, digest, tokenHash }, now)
  const callId = identical?.callId ?? newId('cal', now)
  if (keyed) {
    const claimed = await idempotency.claim(tx, { ...keyed, heldCallId: callId }, now)
    if (claimed.kind === 'held') return { kind: 'known', callId: claimed.callId }
    if (claimed.kind === 'stored') return claimed
  }
  assertUsable({ ...current, isTokenCurrent: true }, now)
  const { rate } = call.route
  if (rate) await takeFromLimit(tx, rate.key, rate.limit, now)
  if (identical) return { kind: 'held', ...identical, isNew: false }
  if (await heldCallStore.wasDenied(tx, { agentId, digest }, now)) throw deniedBefore()
  const held = heldCall(needs, call, { callId, digest, now })
  await assertRoom(needs, tx, held, call.body?.length ?? 0, now)
  // Laying out a long body takes a while, so it is not done for a call that is refused or joined.
  await heldCallStore.insert(tx, held, requestOf(call), { ...shown, body: shownBody(call) })
  await audit.append(tx, {
    event: 'proxy.held',
    at: now,
    requestId: call.requestId,
    agentId,
    ...recordedNames(standing),
    detail: { ...call.facts, call_id: callId, access: held.access, term: held.term },
  })
  await notifyOfCall(needs, tx, held, { providerName, agentName }, now)
  return { kind: 'held', callId, expiresAt: held.expiresAt, isNew: true }
}

async function assertRoom(
  { database, users, heldCallStore }: HoldNeeds,
  tx: Queries,
  { agentId, userId }: HeldCall,
  bytes: number,
  now: Date,
): Promise<void> {
  await takeFromLimit(tx, `held-calls:${agentId}`, perHour(bounds.heldPerHour), now)
  if ((await heldCallStore.countWaiting(tx, { agentId }, now)) >= bounds.waitingOfAgent) {
    throw tooMany('Too many calls of this agent wait for approval. Cancel some, or wait for a decision.')
  }
  if ((await heldCallStore.bytesOf(tx, agentId)) + bytes > bounds.bytesOfAgent) {
    throw tooMany(
      'The calls of this agent that wait for approval, and the responses kept for it, are too large together.',
    )
  }
  // Calls of several agents to one person are counted one at a time.
  await users.lock(database, tx, userId)
  if ((await heldCallStore.countWaiting(tx, { userId }, now)) >= bounds.waitingOfUser) {
    throw tooMany('Too many calls wait for this person already. Wait for a decision.')
  }
}

function heldCall(
  { config }: HoldNeeds,
  { agentId, tokenHash, standing: { grant }, access, asks }: Call,
  { callId, digest, now }: { callId: string; digest: string; now: Date },
): HeldCall {
  if (grant.userId === null || access === undefined || asks === undefined) throw new Error('the call does not ask')
  return {
    ...{ callId, agentId, userId: grant.userId, grantId: grant.grantId, tokenHash, digest, access, term: asks },
    status: 'waiting',
    createdAt: now,
    expiresAt: new Date(now.getTime() + config.heldCallSeconds * 1000),
    ...{ decidedAt: null, decidedBy: null, decision: null, denialReason: null },
    ...{ auditId: null, upstreamStatus: null, isSent: false, error: null },
  }
}

function shownOf(call: Call, description: Shown['description'], reason: string | undefined): Omit<Shown, 'body'> {
  const { method, headers, body, access = 'destructive', standing, destination } = call
  const preset = standing.provider?.preset ?? null
  const { repeatScope, ...summary } = summarise({ method, url: destination.url, headers, body, preset, access })
  return {
    description,
    ...summary,
    reason: reason ?? null,
    repeatScope: access === 'destructive' ? null : (repeatScope ?? scopeOfRead(call, summary.sentence)),
  }
}

/** A read without a body says all that it does in its method, URL and headers, which a repeated call has in common. */
function scopeOfRead({ access, method, body }: Call, sentence: string | null): string | null {
  const isPlain = access === 'read' && ['GET', 'HEAD'].includes(method) && !body && sentence !== null
  return isPlain ? 'the same method, URL and headers' : null
}

function requestOf({
  method,
  destination,
  headers,
  droppedHeaders,
  body,
  aws,
  timeoutMs,
  firstByteMs,
  facts: { door },
}: Call): HeldRequest {
  return {
    method,
    url: destination.url.href,
    headers,
    droppedHeaders,
    body: body?.toString('base64') ?? null,
    // The caller's own replaces both limits.
    timeoutMs: timeoutMs === firstByteMs ? timeoutMs : null,
    aws: aws ?? null,
    ...(door && { door }),
  }
}

function tooMany(message: string): ServiceError {
  return new ServiceError('rate_limited', { message, retryAfterSeconds: 60 })
}

function deniedBefore(): ServiceError {
  const message = 'A person denied this very call a few minutes ago. Do not repeat it unless they ask for it.'
  return new ServiceError('call_denied', { message })
}
