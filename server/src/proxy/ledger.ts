/**
 * What goes on record of calls. An attempt is on disk, and counted, before its promise resolves, and is refused there
 * if anything that the call stands on has ended since it was judged. Outcomes follow with the next commit.
 */
import type { AgentStore } from '../agents/agent-store.ts'
import type { AuditRecord } from '../audit/audit-record.ts'
import type { AuditLog } from '../audit/audit-store.ts'
import { useMarkedEveryMs } from '../connections/connection.ts'
import type { ConnectionStore } from '../connections/connection-store.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import type { StandingStore } from '../grants/standing-store.ts'
import { assertUsable } from '../grants/usable.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { createGroupCommit } from '../platform/database/group-commit.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { matchesHost } from '../providers/api-hosts.ts'
import type { Call } from './call.ts'
import type { CallRecordStore } from './call-record-store.ts'
import { createPrepaidCalls } from './prepaid-calls.ts'

export interface LedgerNeeds {
  database: Database
  agents: AgentStore
  grants: GrantStore
  standings: StandingStore
  connections: Pick<ConnectionStore, 'markUsed'>
  audit: Pick<AuditLog, 'appendAll' | 'appendAtOnce'>
  callRecords: CallRecordStore
  clock: Clock
  log: Log
}

export interface Ledger {
  attempt: (call: Call) => Promise<void>
  /** The same, unless the question is answered: in a transaction of its own, so that what it wrote is undone with a refusal. */
  attemptUnless: <T>(call: Call, settled: (tx: Queries) => Promise<T | undefined>) => Promise<T | undefined>
  /** Another request of the same call: to where a redirect leads, or once more with a renewed token. */
  nextAttempt: (call: Call, why: 'redirect' | 'token_renewed') => Promise<void>
  /** After a wait. */
  assertStillStands: (call: Call) => Promise<void>
  /** Resolves once it is on disk. Only those who must not answer before have to wait. */
  outcome: (
    call: Call,
    outcome: 'answered' | 'failed',
    detail: OutcomeDetail,
    more?: (tx: Queries) => Promise<void>,
  ) => Promise<void>
  flush: () => Promise<void>
}

export type OutcomeDetail = Record<string, string | number>

/** What is to be put on record of a call, and whether the call takes one from its grant by it. */
interface Entry {
  call: Call
  kind: 'attempt' | 'redirect' | 'token_renewed' | 'outcome'
  outcome?: 'answered' | 'failed'
  detail: NonNullable<AuditRecord['detail']>
}

export function createLedger(needs: LedgerNeeds): Ledger {
  const { database, audit, clock, log } = needs
  const prepaid = createPrepaidCalls()

  /** Why each may not go on, in their places: the rate first, then what the call stands on. */
  const judgeAll = async (tx: Queries, entries: readonly Entry[], at: Date) => {
    const refusals: (ServiceError | undefined)[] = entries.map(() => undefined)
    const settle = async (index: number, work: Promise<unknown>) => {
      refusals[index] = await refusalOf(work)
    }
    for (const [index, { call, kind }] of entries.entries()) {
      if (followsAnAnswer(kind)) await settle(index, assertStillStands(needs, tx, call, at))
    }
    const current = await needs.agents.findCurrent(
      tx,
      entries.flatMap(({ call, kind }) => (countsOne(kind) ? [call.tokenHash] : [])),
    )
    entries.forEach(({ call, kind }, index) => {
      if (countsOne(kind) && !current.has(call.tokenHash.toString('hex'))) {
        refusals[index] ??= new ServiceError('unauthenticated')
      }
    })
    const takings: Promise<void>[] = []
    entries.forEach(({ call, kind }, index) => {
      const { rate } = call.route
      const taking = countsOne(kind) && rate && !refusals[index] ? prepaid.take(tx, rate, at) : undefined
      if (taking) takings.push(settle(index, taking))
    })
    if (takings.length > 0) await Promise.all(takings)
    const counting = [...entries.entries()].filter(([index, { kind }]) => countsOne(kind) && !refusals[index])
    const grantIds = counting.map(([, { call }]) => call.standing.grant.grantId)
    const counted = await needs.grants.countCalls(tx, grantIds, at)
    for (const [place, [index, { call }]] of counting.entries()) {
      if (!counted[place]) await settle(index, explainEnd(needs, tx, call, at))
      else if (isDueToBeMarked(call, at)) await markUsed(needs, tx, call, at)
    }
    return refusals
  }
  const write = async (tx: Queries, entries: readonly Entry[]) => {
    const at = clock()
    const refusals = await judgeAll(tx, entries, at)
    audit.appendAll(
      tx,
      entries.filter((_, index) => !refusals[index]).map((entry) => toRecord(entry, at)),
    )
    return refusals
  }
  const writeAtOnce = async (entries: readonly Entry[]) => {
    const at = clock()
    const counting = entries.filter(({ kind }) => countsOne(kind))
    if (entries.some(({ kind }) => followsAnAnswer(kind))) return undefined
    const used = counting.map(({ call }) => call).filter((call) => isDueToBeMarked(call, at))
    const taking = prepaid.plan(counting.flatMap(({ call }) => call.route.rate ?? []))
    if (!taking) return undefined
    const calls = counting.map(({ call: { standing, tokenHash } }) => ({ grantId: standing.grant.grantId, tokenHash }))
    const records = entries.map((entry) => toRecord(entry, at))
    let isDone = false
    try {
      isDone = await audit.appendAtOnce(records, (rows) =>
        needs.callRecords.insertAtOnce(
          database,
          rows,
          { calls, connectionIds: used.flatMap(connectionIdOf) },
          taking,
          at,
        ),
      )
      if (!isDone) return undefined
      await database.durable()
      for (const call of used) noteUsed(call, at)
      return []
    } finally {
      taking.ended(isDone)
    }
  }
  // A call that was put on record twice would be counted twice; an outcome that is not there would be unknown.
  const mayRepeat = ({ kind }: Entry) => kind === 'outcome'
  const group = createGroupCommit(database, write, { writeAtOnce, mayRepeat })

  /** In a transaction of its own, with what else belongs to it. */
  const writeAlone = async (tx: Queries, entry: Entry) => {
    const [refusal] = await write(tx, [entry])
    if (refusal) throw refusal
  }

  const outcome: Ledger['outcome'] = async (call, how, detail, more) => {
    const entry: Entry = { call, kind: 'outcome', outcome: how, detail }
    try {
      if (!more) await group.commitLater(entry)
      else
        await database.transaction(
          async (tx) => {
            await writeAlone(tx, entry)
            await more(tx)
          },
          { isUrgent: true },
        )
    } catch (error) {
      // The attempt is on record; the outcome stays unknown, and the answer is not withheld for it.
      const ids = { request_id: call.requestId, agent_id: call.agentId, audit_id: call.auditId }
      log.error({ ...ids, err: error }, 'an outcome could not be put on record')
    }
  }

  return {
    attempt: async (call) => {
      try {
        await group.commit({ call, kind: 'attempt', detail: call.facts })
      } catch (error) {
        if (error instanceof ServiceError && error.code === 'grant_exhausted') noteUsedUp(call)
        throw error
      }
    },

    attemptUnless: (call, settled) =>
      database.transaction(
        async (tx) => {
          const found = await settled(tx)
          if (found === undefined) await writeAlone(tx, { call, kind: 'attempt', detail: call.facts })
          else await assertAgentActs(needs, tx, call)
          return found
        },
        { isUrgent: true },
      ),

    assertStillStands: async (call) => {
      await assertStillStands(needs, database.queries, call, clock())
    },

    nextAttempt: (call, why) => group.commit({ call, kind: why, detail: { ...call.facts, why } }),

    outcome,

    flush: group.flush,
  }
}

async function refusalOf(work: Promise<unknown>): Promise<ServiceError | undefined> {
  try {
    await work
    return undefined
  } catch (error) {
    if (error instanceof ServiceError) return error
    throw error
  }
}

/** A renewed token belongs to the request that was counted already. */
function countsOne(kind: Entry['kind']): boolean {
  return kind === 'attempt' || kind === 'redirect'
}

/** These go out after a wait for the upstream: what the call stands on is read anew. */
function followsAnAnswer(kind: Entry['kind']): boolean {
  return kind === 'redirect' || kind === 'token_renewed'
}

const events = {
  attempt: 'proxy.attempt',
  redirect: 'proxy.hop',
  token_renewed: 'proxy.hop',
  outcome: 'proxy.outcome',
} as const

function toRecord({ call, kind, outcome, detail }: Entry, at: Date): AuditRecord {
  const { grant, connection, provider } = call.standing
  return {
    auditId: call.auditId,
    event: events[kind],
    at,
    requestId: call.requestId,
    agentId: call.agentId,
    userId: grant.userId ?? undefined,
    grantId: grant.grantId,
    connectionId: connection?.connectionId,
    provider: provider?.slug ?? undefined,
    outcome,
    detail,
  }
}

function isDueToBeMarked({ standing: { connection } }: Call, at: Date): boolean {
  return connection !== null && (connection.lastUsedAt?.getTime() ?? 0) < at.getTime() - useMarkedEveryMs
}

async function markUsed({ connections }: LedgerNeeds, tx: Queries, call: Call, at: Date) {
  for (const connectionId of connectionIdOf(call)) await connections.markUsed(tx, connectionId, at)
  noteUsed(call, at)
}

function connectionIdOf({ standing: { connection } }: Call): string[] {
  return connection ? [connection.connectionId] : []
}

/** The cached standing serves other calls too. */
function noteUsed({ standing: { connection } }: Call, at: Date): void {
  if (connection) connection.lastUsedAt = at
}

/** What was read may serve other calls too, which would be refused with all that goes on record beside them. */
function noteUsedUp({ standing: { grant } }: Call): void {
  grant.calls = Math.max(grant.calls, grant.maxCalls ?? 0)
}

/** It ended since it was judged: says how. */
async function explainEnd(needs: LedgerNeeds, tx: Queries, call: Call, at: Date): Promise<never> {
  await assertStillStands(needs, tx, call, at, { mayBeExhausted: false })
  throw new ServiceError('grant_not_found', { field: 'grant_id' })
}

async function assertAgentActs({ agents }: LedgerNeeds, tx: Queries, { tokenHash }: Call): Promise<void> {
  if ((await agents.findCurrent(tx, [tokenHash])).size === 0) throw new ServiceError('unauthenticated')
}

async function assertStillStands(
  needs: LedgerNeeds,
  tx: Queries,
  call: Call,
  at: Date,
  { mayBeExhausted } = { mayBeExhausted: true },
) {
  const { agentId, standing, tokenHash } = call
  const isTokenCurrent = (await needs.agents.findCurrent(tx, [tokenHash])).size > 0
  const now = await needs.standings.find(tx, agentId, standing.grant.grantId)
  if (!now) throw new ServiceError('grant_not_found', { field: 'grant_id' })
  assertUsable({ ...now, isTokenCurrent }, at, { mayBeExhausted })
  const { provider } = now
  if (provider && !provider.apiHosts.some((entry) => matchesHost(entry, call.destination.host))) {
    throw new ServiceError('host_not_allowed', { field: 'url' })
  }
}
