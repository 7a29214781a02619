/**
 * What goes on record of calls. An attempt is on disk, and counted, before its promise resolves, and is refused there
 * if anything that the call stands on has ended since it was judged. Outcomes follow with the next commit.
 */
import type { AgentStore } from '../agents/agent-store.ts'
import type { AuditStore } from '../audit/audit-store.ts'
import type { ConnectionStore } from '../connections/connection-store.ts'
import { assertGrantIsLive } from '../grants/grant.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import { assertStands, recordedNames } from '../grants/standing.ts'
import type { StandingStore } from '../grants/standing-store.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { createGroupCommit } from '../platform/database/group-commit.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import type { Call } from './call.ts'
import { createPrepaidCalls } from './prepaid-calls.ts'

export interface LedgerNeeds {
  database: Database
  agents: AgentStore
  grants: GrantStore
  standings: StandingStore
  connections: Pick<ConnectionStore, 'markUsed'>
  audit: AuditStore
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

const minuteMs = 60_000

export function createLedger(needs: LedgerNeeds): Ledger {
  const { database, audit, clock, log } = needs
  const group = createGroupCommit(database)
  const takeCall = createPrepaidCalls()

  const countOne = async (tx: Queries, call: Call, at: Date) => {
    if (call.route.rate) await takeCall(tx, call.route.rate, at)
    await count(needs, tx, call, at)
  }
  const begin = async (tx: Queries, call: Call) => {
    const at = clock()
    await countOne(tx, call, at)
    await audit.append(tx, { ...namesOf(call), event: 'proxy.attempt', at, detail: call.facts })
  }

  return {
    attempt: (call) => group.commit((tx) => begin(tx, call)),

    attemptUnless: (call, settled) =>
      database.transaction(async (tx) => {
        const found = await settled(tx)
        if (found === undefined) await begin(tx, call)
        return found
      }),

    assertStillStands: async (call) => {
      await assertStillStands(needs, database.queries, call, clock())
    },

    nextAttempt: (call, why) =>
      group.commit(async (tx) => {
        const at = clock()
        if (why === 'redirect') await countOne(tx, call, at)
        else await assertStillStands(needs, tx, call, at)
        await audit.append(tx, { ...namesOf(call), event: 'proxy.hop', at, detail: { ...call.facts, why } })
      }),

    outcome: async (call, outcome, detail, more) => {
      const write = async (tx: Queries) => {
        await audit.append(tx, { ...namesOf(call), event: 'proxy.outcome', at: clock(), outcome, detail })
        await more?.(tx)
      }
      try {
        await (more ? database.transaction(write) : group.commitLater(write))
      } catch (error) {
        // The attempt is on record; the outcome stays unknown, and the answer is not withheld for it.
        log.error({ err: error, audit_id: call.auditId }, 'an outcome could not be put on record')
      }
    },

    flush: () => group.flush(),
  }
}

function namesOf({ auditId, requestId, agentId, standing }: Call) {
  return { auditId, requestId, agentId, ...recordedNames(standing) }
}

async function count(needs: LedgerNeeds, tx: Queries, call: Call, at: Date): Promise<void> {
  const { grant, connection } = call.standing
  if (!(await needs.grants.countCall(tx, grant.grantId, at))) await explainEnd(needs, tx, call, at)
  // For people to read: to the minute is near enough.
  const usedAt = connection?.lastUsedAt?.getTime() ?? 0
  if (!connection || usedAt >= at.getTime() - minuteMs) return
  await needs.connections.markUsed(tx, connection.connectionId, at)
  // What was read may serve other calls too.
  connection.lastUsedAt = at
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
  return now
}
