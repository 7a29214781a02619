/**
 * Which users and agents have records in common. Records are indexed by the pair of both; to list the records of a user
 * or an agent, its pairs are looked up here first.
 */
import { followUps } from '@sallyport/protocol/audit'
import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import { rowsPerBatch } from '../platform/database/batches.ts'
import type { Queries } from '../platform/database/database.ts'
import type { RecordRow } from './audit-hash.ts'

declare module '../platform/database/tables.ts' {
  interface Tables {
    audit_pairs: { user_id: string; agent_id: string }
  }
}

/**
 * Lists show follow-ups with the record that they belong to. Exactly the condition of the partial indexes, or they are
 * not used.
 */
export const isListed = sql<boolean>`event not in (${sql.raw(followUps.map((event) => `'${event}'`).join(', '))})`
const unlisted: ReadonlySet<string> = new Set(followUps)

type Own = 'agent_id' | 'user_id'

export const auditPairStore = {
  /**
   * A batch of the other sides of a user's or an agent's pairs, each with the newest common record below `before`: the
   * next ones in the order of their ids, or those with the given ids.
   */
  listCounterparts: (
    queries: Queries,
    own: Own,
    id: string,
    before: string | undefined,
    which: { after: string } | { ids: readonly string[] },
  ): Promise<{ id: string; newest: string | null }[]> => {
    const other = own === 'agent_id' ? 'user_id' : 'agent_id'
    return queries
      .selectFrom('audit_pairs')
      .select(`${other} as id`)
      .select((eb) =>
        eb
          .selectFrom('audit_records')
          .select('audit_id')
          .whereRef('audit_records.user_id', '=', 'audit_pairs.user_id')
          .whereRef('audit_records.agent_id', '=', 'audit_pairs.agent_id')
          .where(isListed)
          .$if(before !== undefined, (query) => query.where('audit_id', '<', before ?? ''))
          .orderBy('audit_id', 'desc')
          .limit(1)
          .as('newest'),
      )
      .where(own, '=', id)
      .$if('after' in which, (query) => query.where(other, '>', 'after' in which ? which.after : ''))
      .$if('ids' in which, (query) => query.where(other, 'in', 'ids' in which ? which.ids : []))
      .orderBy(other)
      .limit(rowsPerBatch)
      .execute()
  },

  /** The newest of all records. */
  newestId: async (queries: Queries): Promise<string | undefined> => {
    const query = queries.selectFrom('audit_records').select('audit_id').orderBy('audit_id', 'desc').limit(1)
    return (await query.executeTakeFirst())?.audit_id
  },
}

// Most pairs exist already, and nothing is written. Not cached: the database file may be replaced by an older one.
export const insertPair = 'insert into audit_pairs (user_id, agent_id) values (?, ?) on conflict do nothing'

/** The pairs of these records. */
export function pairsIn(rows: readonly RecordRow[]): [userId: string, agentId: string][] {
  const pairs: [string, string][] = []
  for (const { event, user_id: userId, agent_id: agentId } of rows) {
    if (userId === null || agentId === null || unlisted.has(event)) continue
    pairs.push([userId, agentId])
  }
  return pairs
}

export interface PairLists {
  pairedUsers: unknown[]
  pairedAgents: unknown[]
}

export function pairListsOf(rows: readonly RecordRow[]): PairLists {
  const pairs = pairsIn(rows)
  return { pairedUsers: pairs.map(([userId]) => userId), pairedAgents: pairs.map(([, agentId]) => agentId) }
}

/** On PostgreSQL: each once, and in a fixed order to avoid deadlocks. */
export function insertingPairs({ pairedUsers, pairedAgents }: PairLists): RawBuilder<object> {
  return sql<object>`
    insert into audit_pairs (user_id, agent_id)
    select distinct user_id, agent_id
    from unnest(cast(${pairedUsers} as text[]), cast(${pairedAgents} as text[])) as given (user_id, agent_id)
    order by user_id, agent_id
    on conflict do nothing`
}
