/**
 * The short way onto the record, past all that is done around other transactions: the calls are counted, taken from their
 * rates and put on record. Where any of them may not be made it fails as a whole, and nothing has happened. Why that is,
 * the long way tells.
 */
import { sql } from 'kysely'
import { insertingRecords, listsOf, notesOf } from '../audit/audit-chain-store.ts'
import type { LinkedRow, RecordLists } from '../audit/audit-chain-store.ts'
import { insertingPairs } from '../audit/audit-pair-store.ts'
import { noteOfUses } from '../connections/connection-store.ts'
import { countingLiveCalls, noteOfCalls } from '../grants/grant-usage-store.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { listOf, preparedText } from '../platform/database/prepared.ts'
import { noteOfTakings, takingFromLimits, timesOf } from '../platform/rate-limits.ts'
import type { Times } from '../platform/rate-limits.ts'
import type { PlannedTaking } from './prepaid-calls.ts'

interface Values extends RecordLists, Times {
  now: number
  grantIds: readonly string[]
  times: readonly number[]
  keys: readonly string[]
  grantCount: number
  keyCount: number
}

const statement = preparedText((queries: Queries, values: Values) => {
  const { now, grantIds, times, grantCount, keyCount } = values
  const counted = countingLiveCalls(queries, now, sql.raw('counting.times'))
    .from(
      sql<object>`unnest(cast(${grantIds} as text[]), cast(${times} as bigint[]))`.as<'counting'>(
        sql.raw('counting (id, times)'),
      ),
    )
    .where(sql<boolean>`grant_usage.grant_id = counting.id`)
    .returning('grant_id')
  const areAll = sql`(select count(*) from counted) = ${grantCount} and (select count(*) from taken) = ${keyCount}`
  // To divide by zero is the way to fail that needs no function of our own. What nobody looks at would not be computed.
  return sql<object>`
    with counted as (${counted}),
      taken as (${takingFromLimits(values, listOf(values.keys))}),
      agreed as (select 1 / cast(${areAll} as integer) as one),
      paired as (${insertingPairs(values)})
    ${insertingRecords(values, sql`cross join agreed where agreed.one = 1`)}`.compile(queries)
})

export const callRecordStore = {
  /**
   * `grantIds` has the grant of each call that counts, `connectionIds` the connections whose last use is due to be
   * written. Undefined where there is no such way at the moment.
   */
  insertAtOnce: (
    { engine, atOnce, noteAtOnce, queries }: Database,
    rows: readonly LinkedRow[],
    { grantIds, connectionIds }: { grantIds: readonly string[]; connectionIds: readonly string[] },
    { keys, limit, calls }: PlannedTaking,
    now: Date,
  ): Promise<unknown> | undefined => {
    const at = now.getTime()
    const taken = timesOf({ limit, now, calls })
    if (engine === 'sqlite') {
      return noteAtOnce([
        // What fails most often goes first: an agent may well be at its rate.
        { ...noteOfTakings(queries, keys, taken), mustChange: true },
        { ...noteOfCalls(queries, grantIds, at), mustChange: true },
        noteOfUses(connectionIds, at),
        ...notesOf(rows),
      ])
    }
    if (connectionIds.length > 0) return undefined
    const times = new Map<string, number>()
    for (const grantId of grantIds) times.set(grantId, (times.get(grantId) ?? 0) + 1)
    return atOnce(
      statement(queries, {
        ...listsOf(rows),
        ...taken,
        now: at,
        grantIds: [...times.keys()],
        times: [...times.values()],
        keys,
        grantCount: times.size,
        keyCount: keys.length,
      }),
    )
  },
}

export type CallRecordStore = typeof callRecordStore
