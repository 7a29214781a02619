import type { Migration } from '../platform/database/migrate.ts'

/** Lists start with active grants: an index finds them among any number of ended ones. */
export const activeGrants: Migration = {
  number: 10,
  name: 'active grants',
  statements: () => {
    const end = `coalesce(revoked_at, expires_at, 9007199254740991)`
    return [
      `create index grants_by_user_and_end on grants (user_id, (${end}))`,
      `create index grants_by_agent_and_end on grants (agent_id, (${end}))`,
      `drop index grants_by_agent`,
      `create index grants_by_agent on grants (agent_id, grant_id)`,
    ]
  },
}
