import { sql } from 'kysely'
import type {} from '../agents/agent-store.ts'
import { deleteBatch } from '../platform/database/batches.ts'
import type { Queries } from '../platform/database/database.ts'
import { pageOf } from '../platform/database/paging.ts'
import type { Page, PageRequest } from '../platform/database/paging.ts'
import { fromTime } from '../platform/database/times.ts'
import type {} from '../sessions/user-store.ts'
import type { MutedAgent } from './muted-agent.ts'

declare module '../platform/database/tables.ts' {
  interface Tables {
    muted_agents: { user_id: string; agent_id: string; muted_at: number; muted_until: number | null }
  }
}

export const mutedAgentStore = {
  /** Mutes until this time, or permanently. A permanent mute is never shortened. */
  mute: async (
    tx: Queries,
    { userId, agentId }: { userId: string; agentId: string },
    until: Date | null,
    now: Date,
  ): Promise<void> => {
    const times = { muted_at: now.getTime(), muted_until: until?.getTime() ?? null }
    await tx
      .insertInto('muted_agents')
      .values({ user_id: userId, agent_id: agentId, ...times })
      .onConflict((conflict) =>
        conflict.columns(['user_id', 'agent_id']).doUpdateSet(times).where('muted_agents.muted_until', 'is not', null),
      )
      .execute()
  },

  /** False if it was not muted. */
  unmute: async (tx: Queries, userId: string, agentId: string): Promise<boolean> => {
    const row = await tx
      .deleteFrom('muted_agents')
      .where('user_id', '=', userId)
      .where('agent_id', '=', agentId)
      .returning('agent_id')
      .executeTakeFirst()
    return row !== undefined
  },

  find: async (queries: Queries, userId: string, agentId: string, now: Date): Promise<MutedAgent | undefined> => {
    const row = await muted(queries, userId, now).where('muted_agents.agent_id', '=', agentId).executeTakeFirst()
    return row && toMutedAgent(row)
  },

  listOfUser: async (queries: Queries, userId: string, page: PageRequest, now: Date): Promise<Page<MutedAgent>> => {
    const rows = await muted(queries, userId, now)
      .$if(page.before !== undefined, (query) => query.where('muted_agents.agent_id', '<', page.before ?? ''))
      .orderBy('muted_agents.agent_id', 'desc')
      .limit(page.limit + 1)
      .execute()
    return pageOf(rows.map(toMutedAgent), page.limit, ({ agentId }) => agentId)
  },

  dropEnded: (tx: Queries, now: Date): Promise<number> =>
    deleteBatch(tx, 'muted_agents', ['user_id', 'agent_id'], sql`muted_until <= ${now.getTime()}`),
}

export type MutedAgentStore = typeof mutedAgentStore

function muted(queries: Queries, userId: string, now: Date) {
  return queries
    .selectFrom('muted_agents')
    .innerJoin('agents', 'agents.agent_id', 'muted_agents.agent_id')
    .select(['muted_agents.agent_id', 'agents.name', 'muted_agents.muted_at', 'muted_agents.muted_until'])
    .where('muted_agents.user_id', '=', userId)
    .where((eb) => eb.or([eb('muted_until', 'is', null), eb('muted_until', '>', now.getTime())]))
}

function toMutedAgent(row: {
  agent_id: string
  name: string
  muted_at: number
  muted_until: number | null
}): MutedAgent {
  return {
    agentId: row.agent_id,
    name: row.name,
    mutedAt: new Date(row.muted_at),
    mutedUntil: fromTime(row.muted_until),
  }
}
