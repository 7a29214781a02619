import type {} from './grant-store.ts'
import type { Queries } from '../platform/database/database.ts'

/** Whether a user has ever approved this agent. Grants on connections are never deleted. */
export async function isApproved(queries: Queries, agentId: string): Promise<boolean> {
  const row = await queries
    .selectFrom('grants')
    .select('grant_id')
    .where('agent_id', '=', agentId)
    .where('user_id', 'is not', null)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
