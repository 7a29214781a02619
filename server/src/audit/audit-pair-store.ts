/**
 * Which users and agents have records between them. Such a record has one place in the lists, under both at once; whoever
 * reads the list of one of them learns here where to look.
 */
import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import type { Queries } from '../platform/database/database.ts'
import type { RecordRow } from './audit-hash.ts'

declare module '../platform/database/tables.ts' {
  interface Tables {
    audit_pairs: { user_id: string; agent_id: string }
  }
}

/** Word for word as in the indexes, which serve only queries that repeat it. */
export const isListed = sql<boolean>`event not in ('proxy.hop', 'proxy.outcome')`

export const auditPairStore = {
  usersOf: async (queries: Queries, agentId: string): Promise<string[]> => {
    const rows = await queries.selectFrom('audit_pairs').select('user_id').where('agent_id', '=', agentId).execute()
    return rows.map((row) => row.user_id)
  },

  agentsOf: async (queries: Queries, userId: string): Promise<string[]> => {
    const rows = await queries.selectFrom('audit_pairs').select('agent_id').where('user_id', '=', userId).execute()
    return rows.map((row) => row.agent_id)
  },
}

// Most are known, which writes nothing. Not remembered here: a file can be replaced by an older one under us.
export const insertPair = 'insert into audit_pairs (user_id, agent_id) values (?, ?) on conflict do nothing'

/** Whom these records stand between. */
export function pairsIn(rows: readonly RecordRow[]): [userId: string, agentId: string][] {
  const pairs: [string, string][] = []
  for (const { event, user_id: userId, agent_id: agentId } of rows) {
    if (userId === null || agentId === null || event === 'proxy.hop' || event === 'proxy.outcome') continue
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

/** On PostgreSQL: each once, and in order, so that of two who note the same none waits for the other in turn. */
export function insertingPairs({ pairedUsers, pairedAgents }: PairLists): RawBuilder<object> {
  return sql<object>`
    insert into audit_pairs (user_id, agent_id)
    select distinct user_id, agent_id
    from unnest(cast(${pairedUsers} as text[]), cast(${pairedAgents} as text[])) as given (user_id, agent_id)
    order by user_id, agent_id
    on conflict do nothing`
}
