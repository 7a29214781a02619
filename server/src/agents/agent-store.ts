import type { Database, Queries } from '../platform/database/database.ts'
import { pageOf } from '../platform/database/paging.ts'
import type { Page, PageRequest } from '../platform/database/paging.ts'
import { prepared } from '../platform/database/prepared.ts'
import { fromTime } from '../platform/database/times.ts'
import { cacheByVersion } from '../platform/cache/version-cache.ts'
import type { Agent } from './agent.ts'

interface AgentRow {
  agent_id: string
  name: string
  owner_user_id: string
  metadata: string
  token_hash: Uint8Array
  created_at: number
  disabled_at: number | null
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    agents: AgentRow
  }
}

export const agentColumns = [
  'agents.agent_id',
  'agents.name',
  'agents.owner_user_id',
  'agents.metadata',
  'agents.token_hash',
  'agents.created_at',
  'agents.disabled_at',
] as const

const findRows = prepared((queries: Queries, { tokenHash }: { tokenHash: Uint8Array }) =>
  queries.selectFrom('agents').select(agentColumns).where('token_hash', '=', tokenHash),
)

const findByHash = cacheByVersion(async (queries: Queries, hash: string): Promise<Agent | undefined> => {
  const [row] = await findRows(queries, { tokenHash: Buffer.from(hash, 'latin1') })
  return row && toAgent(row)
})

export const agentStore = {
  insert: async (tx: Queries, agent: Agent, tokenHash: Uint8Array): Promise<void> => {
    await tx
      .insertInto('agents')
      .values({
        agent_id: agent.agentId,
        name: agent.name,
        owner_user_id: agent.ownerUserId,
        metadata: JSON.stringify(agent.metadata),
        token_hash: tokenHash,
        created_at: agent.createdAt.getTime(),
        disabled_at: null,
      })
      .execute()
  },

  findByTokenHash: (queries: Queries, tokenHash: Buffer) => findByHash(queries, tokenHash.toString('latin1')),

  /** Which of these token hashes are valid now, in hex. */
  findCurrent: async (queries: Queries, tokenHashes: readonly Buffer[]): Promise<Set<string>> => {
    if (tokenHashes.length === 0) return new Set()
    const found = queries.selectFrom('agents').select('token_hash').where('token_hash', 'in', tokenHashes)
    const rows = await found.where('disabled_at', 'is', null).execute()
    return new Set(rows.map((row) => hexOf(row.token_hash)))
  },

  /** Whether the agent may act with this token. Locks both until the transaction ends. */
  lockWithToken: async (
    { engine }: Database,
    tx: Queries,
    agentId: string,
    tokenHash: Uint8Array,
  ): Promise<boolean> => {
    const row = await tx
      .selectFrom('agents')
      .select('agent_id')
      .where('agent_id', '=', agentId)
      .where('token_hash', '=', tokenHash)
      .where('disabled_at', 'is', null)
      .$if(engine === 'postgres', (query) => query.forNoKeyUpdate())
      .executeTakeFirst()
    return row !== undefined
  },

  list: async (queries: Queries, page: PageRequest<'active' | 'disabled'>): Promise<Page<Agent>> => {
    const rows = await queries
      .selectFrom('agents')
      .selectAll()
      .$if(page.status !== undefined, (query) =>
        query.where('disabled_at', page.status === 'active' ? 'is' : 'is not', null),
      )
      .$if(page.before !== undefined, (query) => query.where('agent_id', '<', page.before ?? ''))
      .orderBy('agent_id', 'desc')
      .limit(page.limit + 1)
      .execute()
    return pageOf(rows.map(toAgent), page.limit, ({ agentId }) => agentId)
  },

  /** Invalidates the old token in the same write. An agent that was disabled meanwhile stays disabled. */
  replaceTokenHash: async (
    tx: Queries,
    agentId: string,
    from: Uint8Array,
    to: Uint8Array,
  ): Promise<Agent | undefined> => {
    const row = await tx
      .updateTable('agents')
      .set({ token_hash: to })
      .where('agent_id', '=', agentId)
      .where('token_hash', '=', from)
      .where('disabled_at', 'is', null)
      .returningAll()
      .executeTakeFirst()
    return row && toAgent(row)
  },

  /** Undefined if there is no such agent or it was already disabled. */
  disable: async (tx: Queries, agentId: string, now: Date): Promise<Agent | undefined> => {
    const row = await tx
      .updateTable('agents')
      .set({ disabled_at: now.getTime() })
      .where('agent_id', '=', agentId)
      .where('disabled_at', 'is', null)
      .returningAll()
      .executeTakeFirst()
    return row && toAgent(row)
  },

  /** Undefined unless it is still disabled since this time. */
  enable: async (tx: Queries, agentId: string, disabledAt: Date): Promise<Agent | undefined> => {
    const row = await tx
      .updateTable('agents')
      .set({ disabled_at: null })
      .where('agent_id', '=', agentId)
      .where('disabled_at', '=', disabledAt.getTime())
      .returningAll()
      .executeTakeFirst()
    return row && toAgent(row)
  },

  find: async (queries: Queries, agentId: string): Promise<Agent | undefined> => {
    const row = await queries.selectFrom('agents').selectAll().where('agent_id', '=', agentId).executeTakeFirst()
    return row && toAgent(row)
  },

  findAll: async (queries: Queries, agentIds: readonly string[]): Promise<Agent[]> => {
    if (agentIds.length === 0) return []
    const rows = await queries.selectFrom('agents').selectAll().where('agent_id', 'in', agentIds).execute()
    return rows.map(toAgent)
  },
}

export type AgentStore = typeof agentStore

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

export function toAgent(row: AgentRow): Agent {
  return {
    agentId: row.agent_id,
    name: row.name,
    ownerUserId: row.owner_user_id,
    metadata: JSON.parse(row.metadata) as Record<string, unknown>,
    createdAt: new Date(row.created_at),
    disabledAt: fromTime(row.disabled_at),
  }
}
