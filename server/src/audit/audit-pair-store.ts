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

/** Somebody with whom there are records, and the newest of them. */
export interface Counterpart {
  id: string
  newest: string
}

/** Those who have records with somebody below `before`, whose record is the newest first. */
async function counterpartsOf(
  queries: Queries,
  own: 'agent_id' | 'user_id',
  id: string,
  before: string | undefined,
): Promise<Counterpart[]> {
  const rows = await queries
    .selectFrom('audit_pairs')
    .select(own === 'agent_id' ? 'user_id as id' : 'agent_id as id')
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
    .execute()
  return rows
    .flatMap(({ id: other, newest }) => (newest === null ? [] : { id: other, newest }))
    .sort((a, b) => (a.newest < b.newest ? 1 : -1))
}

export const auditPairStore = {
  usersOf: (queries: Queries, agentId: string, before?: string): Promise<Counterpart[]> =>
    counterpartsOf(queries, 'agent_id', agentId, before),

  agentsOf: (queries: Queries, userId: string, before?: string): Promise<Counterpart[]> =>
    counterpartsOf(queries, 'user_id', userId, before),
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
