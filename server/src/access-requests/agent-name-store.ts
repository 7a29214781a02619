import type {} from '../agents/agent-store.ts'
import type { Queries } from '../platform/database/database.ts'
import { pageOf } from '../platform/database/paging.ts'
import type { Page, PageRequest } from '../platform/database/paging.ts'
import type {} from '../sessions/user-store.ts'

declare module '../platform/database/tables.ts' {
  interface Tables {
    agent_names: { user_id: string; agent_id: string; name: string }
  }
}

/** What a user calls an agent. */
export interface AgentName {
  agentId: string
  name: string
}

export const agentNameStore = {
  put: async (tx: Queries, userId: string, { agentId, name }: AgentName): Promise<void> => {
    await tx
      .insertInto('agent_names')
      .values({ user_id: userId, agent_id: agentId, name })
      .onConflict((conflict) => conflict.columns(['user_id', 'agent_id']).doUpdateSet({ name }))
      .execute()
  },

  drop: async (tx: Queries, userId: string, agentId: string): Promise<void> => {
    await tx.deleteFrom('agent_names').where('user_id', '=', userId).where('agent_id', '=', agentId).execute()
  },

  listOfUser: async (queries: Queries, userId: string, page: PageRequest): Promise<Page<AgentName>> => {
    const rows = await queries
      .selectFrom('agent_names')
      .select(['agent_id', 'name'])
      .where('user_id', '=', userId)
      .$if(page.before !== undefined, (query) => query.where('agent_id', '<', page.before ?? ''))
      .orderBy('agent_id', 'desc')
      .limit(page.limit + 1)
      .execute()
    const names = rows.map(({ agent_id: agentId, name }) => ({ agentId, name }))
    return pageOf(names, page.limit, ({ agentId }) => agentId)
  },
}

export type AgentNameStore = typeof agentNameStore
