/**
 * What goes on record of calls. An attempt is on disk, and counted, before its promise resolves, and is refused there
 * if anything that the call stands on has ended since it was judged. Outcomes follow with the next commit.
 */
import type { AgentStore } from '../agents/agent-store.ts'
import type { AuditRecord } from '../audit/audit-record.ts'
import type { AuditLog } from '../audit/audit-store.ts'
import { useMarkedEveryMs } from '../connections/connection.ts'
import type { ConnectionStore } from '../connections/connection-store.ts'
import { assertGrantIsLive } from '../grants/grant.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import { assertStands } from '../grants/standing.ts'
import type { StandingStore } from '../grants/standing-store.ts'
import type { Clock } from '../platform/clock.ts'
import { versionOf } from '../platform/database/database.ts'
import type { Database, Queries, Version } from '../platform/database/database.ts'
import { createGroupCommit } from '../platform/database/group-commit.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { matchesHost } from '../providers/api-hosts.ts'
import type { Call } from './call.ts'
import type { CallRecordStore } from './call-record-store.ts'
import { createPrepaidCalls } from './prepaid-calls.ts'
import type { Rate } from './prepaid-calls.ts'

export interface LedgerNeeds {
  database: Database
  agents: AgentStore
  grants: GrantStore
  standings: StandingStore
  connections: Pick<ConnectionStore, 'markUsed'>
  audit: Pick<AuditLog, 'appendAll' | 'appendAtOnce' | 'keepsJournal' | 'journal' | 'settle'>
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
  /** Of this rate one call was taken for it. */
  spent?: Rate | undefined
}

export function createLedger(needs: LedgerNeeds): Ledger {
  const { database, audit, clock, log } = needs
  const prepaid = createPrepaidCalls(audit.keepsJournal)

  /** Why each may not go on, in their places: the rate first, then what the call stands on. */
  const judgeAll = async (tx: Queries, entries: readonly Entry[], at: Date) => {
    const refusals: (ServiceError | undefined)[] = entries.map(() => undefined)
    const settle = async (index: number, work: Promise<unknown>) => {
      refusals[index] = await refusalOf(work)
    }
    for (const [index, { call, kind }] of entries.entries()) {
      if (followsAnAnswer(kind)) await settle(index, assertStillStands(needs, tx, call, at))
    }
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
    const isUsual = entries.every(({ kind }) => !followsAnAnswer(kind))
    if (!isUsual || counting.some(({ call }) => isDueToBeMarked(call, at))) return undefined
    const taking = prepaid.plan(counting.flatMap(({ call }) => call.route.rate ?? []))
    if (!taking) return undefined
    const grantIds = counting.map(({ call }) => call.standing.grant.grantId)
    const records = entries.map((entry) => toRecord(entry, at))
    let isDone = false
    try {
      isDone = await audit.appendAtOnce(records, (rows) =>
        needs.callRecords.insertAtOnce(database, rows, grantIds, taking, at),
      )
      return isDone ? [] : undefined
    } finally {
      taking.ended(isDone)
    }
  }
  // A call that was put on record twice would be counted twice; an outcome that is not there would be unknown.
  const mayRepeat = ({ kind }: Entry) => kind === 'outcome'
  const group = createGroupCommit(database, write, { writeAtOnce, mayRepeat })

  /** They go out only if by now, with all of it on disk, nothing has changed that they stand on. */
  const writeInJournal = async (entries: readonly Entry[]) => {
    const at = clock()
    if (!entries.every(isPaid) || !audit.journal(entries.map((entry) => toRecord(entry, at)))) {
      for (const entry of entries) giveBack(entry)
      return writeAtOnce(entries)
    }
    // It is there, so from here on nothing may be taken for undone: whatever fails is the affair of its call alone.
    const version = await versionNow()
    const refusals: (Error | undefined)[] = []
    for (const [index, { call, kind }] of entries.entries()) {
      if (kind === 'outcome' || (version !== undefined && call.asOf === version)) continue
      const refusal = await failureOf(assertStillStands(needs, database.queries, call, at))
      refusals[index] = refusal
      // An attempt that came to nothing; of a call that is under way somebody else says how it ended.
      if (refusal && kind === 'attempt') void outcome(call, 'failed', { code: codeOf(refusal), ms: 0 })
    }
    return refusals
  }
  const journal = createGroupCommit(database, write, { writeAtOnce: writeInJournal, mayRepeat })

  const versionNow = async (): Promise<Version | undefined> => {
    try {
      const told = versionOf(database.queries)
      return typeof told === 'object' ? await told : told
    } catch {
      return undefined
    }
  }

  /** Into the journal goes what needs no look at the tables. */
  const isPlain = (entry: Entry): boolean => {
    const { call, kind } = entry
    if (!audit.keepsJournal() || followsAnAnswer(kind)) return false
    if (!countsOne(kind)) return true
    return call.standing.grant.maxCalls === null && isPaid(entry)
  }
  /** What it takes from its rate is taken by this question, once. */
  const isPaid = (entry: Entry): boolean => {
    const { rate } = entry.call.route
    if (!rate || !countsOne(entry.kind)) return true
    if (!entry.spent && prepaid.trySpend(rate)) entry.spent = rate
    return entry.spent !== undefined
  }
  const giveBack = (entry: Entry) => {
    if (entry.spent) prepaid.giveBack(entry.spent)
    entry.spent = undefined
  }
  const groupOf = (entry: Entry) => (isPlain(entry) ? journal : group)

  /** In a transaction of its own, with what else belongs to it. */
  const writeAlone = async (tx: Queries, entry: Entry) => {
    const [refusal] = await write(tx, [entry])
    if (refusal) throw refusal
  }

  const outcome: Ledger['outcome'] = async (call, how, detail, more) => {
    const entry: Entry = { call, kind: 'outcome', outcome: how, detail }
    try {
      if (!more) await groupOf(entry).commitLater(entry)
      else
        await database.transaction(async (tx) => {
          await writeAlone(tx, entry)
          await more(tx)
        })
    } catch (error) {
      // The attempt is on record; the outcome stays unknown, and the answer is not withheld for it.
      log.error({ err: error, audit_id: call.auditId }, 'an outcome could not be put on record')
    }
  }

  const commit = (entry: Entry) => groupOf(entry).commit(entry)

  return {
    attempt: async (call) => {
      try {
        await commit({ call, kind: 'attempt', detail: call.facts })
      } catch (error) {
        if (error instanceof ServiceError && error.code === 'grant_exhausted') noteUsedUp(call)
        throw error
      }
    },

    attemptUnless: (call, settled) =>
      database.transaction(async (tx) => {
        const found = await settled(tx)
        if (found === undefined) await writeAlone(tx, { call, kind: 'attempt', detail: call.facts })
        return found
      }),

    assertStillStands: async (call) => {
      await assertStillStands(needs, database.queries, call, clock())
    },

    nextAttempt: (call, why) => commit({ call, kind: why, detail: { ...call.facts, why } }),

    outcome,

    flush: async () => {
      await Promise.all([group.flush(), journal.flush()])
      await audit.settle()
    },
  }
}

async function failureOf(work: Promise<unknown>): Promise<Error | undefined> {
  try {
    await work
    return undefined
  } catch (error) {
    return error as Error
  }
}

async function refusalOf(work: Promise<unknown>): Promise<ServiceError | undefined> {
  const failure = await failureOf(work)
  if (failure === undefined || failure instanceof ServiceError) return failure
  throw failure
}

function codeOf(failure: Error): string {
  return failure instanceof ServiceError ? failure.code : 'internal'
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

async function markUsed({ connections }: LedgerNeeds, tx: Queries, { standing: { connection } }: Call, at: Date) {
  if (!connection) return
  await connections.markUsed(tx, connection.connectionId, at)
  // What was read may serve other calls too.
  connection.lastUsedAt = at
}

/** What was read may serve other calls too, which would be refused with all that goes on record beside them. */
function noteUsedUp({ standing: { grant } }: Call): void {
  grant.calls = Math.max(grant.calls, grant.maxCalls ?? 0)
}

/** It ended since it was judged: says how. */
async function explainEnd(needs: LedgerNeeds, tx: Queries, call: Call, at: Date): Promise<never> {
  assertGrantIsLive((await assertStillStands(needs, tx, call, at)).grant, at)
  throw new ServiceError('grant_not_found', { field: 'grant_id' })
}

async function assertStillStands({ agents, standings }: LedgerNeeds, tx: Queries, call: Call, at: Date) {
  const { agentId, standing } = call
  if ((await agents.find(tx, agentId))?.disabledAt) throw new ServiceError('unauthenticated')
  const now = await standings.find(tx, agentId, standing.grant.grantId)
  if (!now) throw new ServiceError('grant_not_found', { field: 'grant_id' })
  assertStands(now, at)
  const { provider } = now
  if (provider && !provider.apiHosts.some((entry) => matchesHost(entry, call.destination.host))) {
    throw new ServiceError('host_not_allowed', { field: 'url' })
  }
  return now
}
