import { sql } from 'kysely'
import type { Queries } from '../platform/database/database.ts'
import { fromTime } from '../platform/database/times.ts'
import { isOver } from './grant-foundation-store.ts'
import { endsAfter } from './grant-list-store.ts'

/** Of the active grants of each agent or user. One that is disabled keeps its grants, and they count here. */
export async function grantFiguresOf(
  by: 'agent_id' | 'user_id',
  queries: Queries,
  ids: readonly string[],
  now: Date,
): Promise<Map<string, { active: number; lastUsedAt: Date | null }>> {
  if (ids.length === 0) return new Map()
  const rows = await queries
    .selectFrom('grants')
    .innerJoin('grant_usage', 'grant_usage.grant_id', 'grants.grant_id')
    .innerJoin('connections', 'connections.connection_id', 'grants.connection_id')
    .select((eb) => [
      `grants.${by} as id` as const,
      eb.fn.countAll<number | string>().as('active'),
      eb.fn.max('grant_usage.last_used_at').as('last_used_at'),
    ])
    .where(`grants.${by}`, 'in', ids)
    .where(endsAfter(now))
    .where(sql<boolean>`not ${isOver(now)}`)
    .where('connections.status', '<>', 'revoked')
    .groupBy(`grants.${by}`)
    .execute()
  return new Map(
    rows.map(({ id, active, last_used_at }) => [
      id ?? '',
      { active: Number(active), lastUsedAt: fromTime(last_used_at) },
    ]),
  )
}
