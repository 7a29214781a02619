/**
 * Counts calls, takes them from their rates and records them in one step. If one of them may not be made, the step
 * fails as a whole and nothing is written.
 */
import { sql } from 'kysely'
import { asJson, insertingRecords, insertStatement } from '../audit/audit-chain-store.ts'
import type { LinkedRow } from '../audit/audit-chain-store.ts'
import { markUsedStatement } from '../connections/connection-store.ts'
import type { JudgedGrant } from '../grants/grant.ts'
import { countingLiveCalls, countStatementWithToken } from '../grants/grant-usage-store.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { listOf, preparedText } from '../platform/database/prepared.ts'
import { takeStatement, takingFromLimits, timesOf } from '../platform/limits/rate-limits.ts'
import type { Times } from '../platform/limits/rate-limits.ts'
import type { PlannedTaking } from './prepaid-calls.ts'

interface Values extends Times {
  records: string
  now: number
  grantIds: readonly string[]
  times: readonly number[]
  versions: readonly number[]
  keys: readonly string[]
  tokenHashes: readonly Buffer[]
  tokenCount: number
  grantCount: number
  keyCount: number
}

interface CountedCall extends JudgedGrant {
  tokenHash: Buffer
}

const statement = preparedText((queries: Queries, values: Values) => {
  const { now, grantIds, times, versions, tokenHashes, tokenCount, grantCount, keyCount } = values
  const counting = { now, times: sql.raw<number>('counting.times'), version: sql.raw<number>('counting.version') }
  const counted = countingLiveCalls(queries, counting)
    .from(
      sql<object>`unnest(cast(${grantIds} as text[]), cast(${times} as bigint[]), cast(${versions} as bigint[]))`.as<'counting'>(
        sql.raw('counting (id, times, version)'),
      ),
    )
    .where(sql<boolean>`grant_usage.grant_id = counting.id`)
    .returning('grant_id')
  const current = queries
    .selectFrom('agents')
    .select('agent_id')
    .where(listOf(tokenHashes).holds('token_hash'))
    .where('disabled_at', 'is', null)
  const areAll = sql`(select count(*) from counted) = ${grantCount} and (select count(*) from taken) = ${keyCount}
    and (select count(*) from current) = ${tokenCount}`
  // Divide by zero to abort the statement: SQL has no RAISE outside of functions. The insert has to read the result, or
  // PostgreSQL would not compute it.
  return insertingRecords(values.records, {
    with: sql`with
      counted as (${counted}),
      current as (${current}),
      taken as (${takingFromLimits(values, listOf(values.keys))}),
      agreed as (select 1 / cast(${areAll} as integer) as one)`,
    where: sql`cross join agreed where agreed.one = 1`,
  }).compile(queries)
})

export const singleStatementStore = {
  /**
   * `calls` has the grant of each call that counts and the token it came with, `connectionIds` the connections whose
   * last use is due to be written. Undefined if it can't be done in one step at the moment.
   */
  insert: (
    { engine, runSingleStatement, runBatchTransaction, queries }: Database,
    rows: readonly LinkedRow[],
    { calls, connectionIds }: { calls: readonly CountedCall[]; connectionIds: readonly string[] },
    { keys, limit, calls: prepaid }: PlannedTaking,
    now: Date,
  ): Promise<unknown> | undefined => {
    const at = now.getTime()
    const taken = timesOf({ limit, now, calls: prepaid })
    if (engine === 'sqlite') {
      return runBatchTransaction([
        // Check the most frequent failure first: an agent may well be at its rate.
        { ...takeStatement(queries, keys, taken), mustChange: true },
        { ...countStatementWithToken(queries, calls, at), mustChange: true },
        markUsedStatement(connectionIds, at),
        insertStatement(rows),
      ])
    }
    if (connectionIds.length > 0) return undefined
    const times = new Map<string, number>()
    const versions = new Map<string, number>()
    for (const { grantId, termsVersion } of calls) {
      times.set(grantId, (times.get(grantId) ?? 0) + 1)
      // Judged before and after a change of the terms: a part of them is refused.
      if ((versions.get(grantId) ?? termsVersion) !== termsVersion) return undefined
      versions.set(grantId, termsVersion)
    }
    const tokens = new Map(calls.map(({ tokenHash }) => [tokenHash.toString('hex'), tokenHash]))
    return runSingleStatement(
      statement(queries, {
        records: asJson(rows),
        ...taken,
        now: at,
        grantIds: [...times.keys()],
        times: [...times.values()],
        versions: [...versions.values()],
        keys,
        tokenHashes: [...tokens.values()],
        tokenCount: tokens.size,
        grantCount: times.size,
        keyCount: keys.length,
      }),
    )
  },
}

export type SingleStatementStore = typeof singleStatementStore
