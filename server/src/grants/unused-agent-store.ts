import { sql } from 'kysely'
import { rowsPerBatch } from '../platform/database/batches.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { lowestId } from '../platform/ids.ts'

/** Tables whose rows keep an agent: grants of any kind, and what has to be decided or repeated. */
const references = [
  ['grants', 'agent_id'],
  ['access_requests', 'agent_id'],
  ['callbacks', 'agent_id'],
  ['keyed_calls', 'agent_id'],
  ['held_calls', 'agent_id'],
  ['call_repeats', 'agent_id'],
  ['muted_agents', 'agent_id'],
  ['providers', 'proposed_by'],
] as const

const isUnused = sql.join(
  references.map(
    ([table, column]) =>
      sql`not exists (select 1 from ${sql.table(table)} r where ${sql.ref(`r.${column}`)} = agents.agent_id)`,
  ),
  sql` and `,
)

/**
 * Looks at one batch of agents that registered before this time, and deletes those that nothing refers to: no user ever
 * approved them. Returns the last one looked at, or undefined if there are no more.
 */
export async function dropUnusedAgents(
  { engine }: Pick<Database, 'engine'>,
  tx: Queries,
  before: Date,
  after: string,
): Promise<string | undefined> {
  const { rows } = await sql<{ agent_id: string; is_unused: boolean | number }>`
    select agent_id, disabled_at is null and ${isUnused} as is_unused from agents
    where agent_id > ${after} and agent_id < ${lowestId('agt', before)}
    order by agent_id limit ${sql.lit(rowsPerBatch)}`.execute(tx)
  const ids = rows.filter(({ is_unused }) => is_unused).map(({ agent_id }) => agent_id)
  if (ids.length > 0) {
    const limit = sql.lit(rowsPerBatch)
    // One that is acting just now is left for the next run. What it has just stored is seen once its row is locked.
    const free = engine === 'postgres' ? sql`for update skip locked` : sql``
    const { rows: locked } = await sql<{ agent_id: string }>`
      select agent_id from agents where agent_id in (${sql.join(ids)}) order by agent_id limit ${limit} ${free}`.execute(
      tx,
    )
    const left = locked.map(({ agent_id }) => agent_id)
    if (left.length > 0) await sql`delete from agents where agent_id in (${sql.join(left)}) and ${isUnused}`.execute(tx)
  }
  return rows.at(-1)?.agent_id
}
