import { sql } from 'kysely'
import type {} from '../agents/agent-store.ts'
import type { Queries } from '../platform/database/database.ts'
import { fromTime } from '../platform/database/times.ts'
import type { Grant } from './grant.ts'

interface GrantRow {
  grant_id: string
  agent_id: string
  kind: 'sandbox'
  allowed_hosts: string
  allowed_methods: string | null
  allowed_paths: string | null
  created_at: number
  expires_at: number | null
  revoked_at: number | null
  calls: number
  last_used_at: number | null
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    grants: GrantRow
  }
}

export const grantStore = {
  insert: async (tx: Queries, grant: Grant): Promise<void> => {
    await tx
      .insertInto('grants')
      .values({
        grant_id: grant.grantId,
        agent_id: grant.agentId,
        kind: grant.kind,
        allowed_hosts: JSON.stringify(grant.allowedHosts),
        allowed_methods: grant.allowedMethods && JSON.stringify(grant.allowedMethods),
        allowed_paths: grant.allowedPaths && JSON.stringify(grant.allowedPaths),
        created_at: grant.createdAt.getTime(),
        expires_at: grant.expiresAt?.getTime() ?? null,
        revoked_at: null,
        calls: 0,
        last_used_at: null,
      })
      .execute()
  },

  findOfAgent: async (queries: Queries, agentId: string, grantId: string): Promise<Grant | undefined> => {
    const row = await queries
      .selectFrom('grants')
      .selectAll()
      .where('grant_id', '=', grantId)
      .where('agent_id', '=', agentId)
      .executeTakeFirst()
    return row && toGrant(row)
  },

  /** Counts a call, where grant and agent are still live in this very transaction; false where they are not. */
  countCall: async (tx: Queries, grantId: string, now: Date): Promise<boolean> => {
    const row = await tx
      .updateTable('grants')
      .set({ calls: sql`calls + 1`, last_used_at: now.getTime() })
      .where('grant_id', '=', grantId)
      .where('revoked_at', 'is', null)
      .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now.getTime())]))
      .where('agent_id', 'in', (eb) => eb.selectFrom('agents').select('agent_id').where('disabled_at', 'is', null))
      .returning('grant_id')
      .executeTakeFirst()
    return row !== undefined
  },

  /** All sandbox grants of the agent but this one. */
  revokeOtherSandboxes: async (tx: Queries, agentId: string, grantId: string, now: Date): Promise<void> => {
    await tx
      .updateTable('grants')
      .set({ revoked_at: now.getTime() })
      .where('agent_id', '=', agentId)
      .where('kind', '=', 'sandbox')
      .where('grant_id', '<>', grantId)
      .where('revoked_at', 'is', null)
      .execute()
  },

  dropSandboxesEndedBefore: async (tx: Queries, before: Date): Promise<void> => {
    await tx.deleteFrom('grants').where('kind', '=', 'sandbox').where('expires_at', '<', before.getTime()).execute()
  },
}

export type GrantStore = typeof grantStore

function toGrant(row: GrantRow): Grant {
  return {
    grantId: row.grant_id,
    agentId: row.agent_id,
    kind: row.kind,
    allowedHosts: toList(row.allowed_hosts),
    allowedMethods: row.allowed_methods === null ? null : toList(row.allowed_methods),
    allowedPaths: row.allowed_paths === null ? null : toList(row.allowed_paths),
    createdAt: new Date(row.created_at),
    expiresAt: fromTime(row.expires_at),
    revokedAt: fromTime(row.revoked_at),
  }
}

function toList(text: string): string[] {
  return JSON.parse(text) as string[]
}
