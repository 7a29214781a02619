/**
 * The number of calls of each grant, and the time of the last one. Every call updates its row, so the table is separate
 * from the terms of grants and its rows are small.
 */
import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import { batchRunnerOf } from '../platform/database/database.ts'
import type { BatchStatement, Queries } from '../platform/database/database.ts'
import { isPausedFor } from '../pauses/pause-store.ts'
import { listOf, prepared, preparedBatch } from '../platform/database/prepared.ts'
import type { JudgedGrant } from './grant.ts'

export interface UsageRow {
  grant_id: string
  calls: number
  last_used_at: number | null
  /** 0 once the grant is revoked. After waiting for a row lock, PostgreSQL reads the new version of that row only. */
  is_open: number
  /** As in `is_open`, the row that is read is the newest. */
  terms_version: number
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    grant_usage: UsageRow
  }
}

/** Every grant has a row. */
export async function openUsage(tx: Queries, grantId: string): Promise<void> {
  const unused = { calls: 0, last_used_at: null, is_open: 1, terms_version: 1 }
  await tx
    .insertInto('grant_usage')
    .values({ grant_id: grantId, ...unused })
    .execute()
}

/** In the transaction that revokes them: it waits for calls that are being counted, and no call is counted after it. */
export async function closeUsage(tx: Queries, grantIds: readonly string[]): Promise<void> {
  if (grantIds.length === 0) return
  await tx.updateTable('grant_usage').set({ is_open: 0 }).where('grant_id', 'in', grantIds).execute()
}

/** In the transaction that changes its terms: calls that were judged by earlier ones are not counted after it. */
export async function renewTerms(tx: Queries, grantId: string): Promise<void> {
  await tx
    .updateTable('grant_usage')
    .set({ terms_version: sql`terms_version + 1` })
    .where('grant_id', '=', grantId)
    .execute()
}

/**
 * Counts a call on each of these grants, which may be repeated. False for each that is not usable in this transaction:
 * no call left, revoked, other terms, or agent, user, connection or provider not active.
 */
export async function countCalls(tx: Queries, judged: readonly JudgedGrant[], now: Date): Promise<boolean[]> {
  if (judged.length === 0) return []
  const at = now.getTime()
  const runBatch = batchRunnerOf(tx)
  if (runBatch) return (await runBatch(countStatement(tx, judged, at))).map((changes) => changes === 1)
  await waitForRows(tx, { grantIds: [...new Set(judged.map(({ grantId }) => grantId))] })
  const counted: boolean[] = []
  for (const wave of groupsWithUniqueIds(judged)) {
    const grantIds = wave.map(([, { grantId }]) => grantId)
    const versions = wave.map(([, { termsVersion }]) => termsVersion)
    const through = new Set((await countAll(tx, { grantIds, versions, now: at })).map((row) => row.grant_id))
    for (const [index, { grantId }] of wave) counted[index] = through.has(grantId)
  }
  return counted
}

/** A statement counts each grant once: its second occurrence, with its index, goes into the second group, and so on. */
function groupsWithUniqueIds(judged: readonly JudgedGrant[]): [index: number, JudgedGrant][][] {
  const seen = new Map<string, number>()
  const groups: [number, JudgedGrant][][] = []
  for (const [index, one] of judged.entries()) {
    const group = seen.get(one.grantId) ?? 0
    seen.set(one.grantId, group + 1)
    ;(groups[group] ??= []).push([index, one])
  }
  return groups
}

/** whyUnusable (usable.ts) in SQL. Updates nothing if the grant has fewer calls left than `times`. */
// Scalar subqueries instead of `exists`, for which PostgreSQL might hash a whole table.
export function countingLiveCalls(
  tx: Queries,
  { now, times, version }: { now: number; times: RawBuilder<number>; version: RawBuilder<number> | number },
  tokenHash?: Uint8Array,
) {
  const hasToken = tokenHash === undefined ? sql`` : sql`and token_hash = ${tokenHash}`
  return tx
    .updateTable('grant_usage')
    .set({ calls: sql`grant_usage.calls + ${times}`, last_used_at: now })
    .where('is_open', '=', sql.lit(1))
    .where('terms_version', '=', version)
    .where(
      sql<boolean>`(
        select revoked_at is null
          and (expires_at is null or expires_at > ${now})
          and (max_calls is null or grant_usage.calls + ${times} <= max_calls)
          and not ${isPausedFor(sql.ref('grants.user_id'))}
          and (select disabled_at is null ${hasToken} from agents where agents.agent_id = grants.agent_id)
          and (user_id is null or (select disabled_at is null from users where users.user_id = grants.user_id))
          and (connection_id is null or (select connections.status = 'active' and providers.status = 'active'
            from connections join providers using (provider_id)
            where connections.connection_id = grants.connection_id))
        from grants where grants.grant_id = grant_usage.grant_id)`,
    )
}

const one = sql.lit(1)

/** One update per call: with `returning`, SQLite would need a temporary table for each statement. */
const countEach = preparedBatch<JudgedGrant & { now: number }>((tx, { grantId, termsVersion: version, now }) =>
  countingLiveCalls(tx, { now, times: one, version }).where('grant_id', '=', grantId),
)

/** The same if the agent's token is still this one. */
const countEachWithToken = preparedBatch<JudgedGrant & { tokenHash: Uint8Array; now: number }>(
  (tx, { grantId, termsVersion: version, tokenHash, now }) =>
    countingLiveCalls(tx, { now, times: one, version }, tokenHash).where('grant_id', '=', grantId),
)

export function countStatementWithToken(
  queries: Queries,
  calls: readonly (JudgedGrant & { tokenHash: Uint8Array })[],
  now: number,
): BatchStatement {
  return countEachWithToken(
    queries,
    calls.map((call) => ({ ...call, now })),
  )
}

/** On SQLite: each run changes one row, or none if the call is not counted. */
function countStatement(queries: Queries, judged: readonly JudgedGrant[], now: number): BatchStatement {
  return countEach(
    queries,
    judged.map(({ grantId, termsVersion }) => ({ grantId, termsVersion, now })),
  )
}

/**
 * Locks the rows first: a PostgreSQL statement sees other tables as of its own beginning, however long it then waits
 * for a row lock. In a fixed order to avoid deadlocks.
 */
const waitForRows = prepared<{ grantIds: readonly string[] }, object>((tx, { grantIds }) =>
  tx
    .selectFrom('grant_usage')
    .select('grant_id')
    .where(listOf(grantIds).holds('grant_id'))
    .orderBy('grant_id')
    .forNoKeyUpdate(),
)

const countAll = prepared<
  { grantIds: readonly string[]; versions: readonly number[]; now: number },
  { grant_id: string }
>(
  (tx, { grantIds, versions, now }) =>
    countingLiveCalls(tx, { now, times: one, version: sql.raw('judged.version') })
      .from(
        sql<object>`unnest(cast(${grantIds} as text[]), cast(${versions} as bigint[]))`.as<'judged'>(
          sql.raw('judged (id, version)'),
        ),
      )
      .where(sql<boolean>`grant_usage.grant_id = judged.id`)
      .returning('grant_id'),
  { leavesCachesValid: true },
)
