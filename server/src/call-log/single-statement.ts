/**
 * Writes entries of the call log in one step: one statement on PostgreSQL, one batch of prepared statements on SQLite.
 * It succeeds only if no entry would be refused. Otherwise nothing is written, and transactional.ts says why.
 */
import type { AuditLog } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import type { Refusals } from '../platform/database/group-commit.ts'
import { connectionsToMark, isCounted, isHop, toRecord } from './entry.ts'
import type { Entry } from './entry.ts'
import type { PrepaidCalls } from './prepaid-calls.ts'
import type { SingleStatementStore } from './single-statement-store.ts'

export interface SingleStatementNeeds {
  database: Database
  audit: Pick<AuditLog, 'appendInOneStep'>
  singleStatements: SingleStatementStore
  clock: Clock
}

export function createSingleStatement(
  { database, audit, singleStatements, clock }: SingleStatementNeeds,
  prepaid: Pick<PrepaidCalls, 'plan'>,
) {
  return async (entries: readonly Entry[]): Promise<Refusals | undefined> => {
    if (entries.some(isHop)) return undefined
    const calls = entries.filter(isCounted).map(({ call }) => call)
    const taking = prepaid.plan(calls.flatMap(({ route }) => route.rate ?? []))
    if (!taking) return undefined
    const at = clock()
    const used = connectionsToMark(calls, at)
    const counted = {
      calls: calls.map(({ standing: { grant }, tokenHash }) => ({
        ...{ grantId: grant.grantId, termsVersion: grant.termsVersion },
        tokenHash,
      })),
      connectionIds: used.map(({ connectionId }) => connectionId),
    }
    const records = entries.map((entry) => toRecord(entry, at))
    let isDone = false
    try {
      isDone = await audit.appendInOneStep(records, (rows) =>
        singleStatements.insert(database, rows, counted, taking, at),
      )
      if (!isDone) return undefined
      await database.durable()
      for (const connection of used) connection.lastUsedAt = at
      return []
    } finally {
      taking.ended(isDone)
    }
  }
}
