import type { Migration } from '../platform/database/migrate.ts'

/** The records of an agent, and those that concern a user, are one range of an index each. */
export const auditLists: Migration = {
  number: 11,
  name: 'audit lists',
  statements: () => {
    const listed = `event not in ('proxy.hop', 'proxy.outcome')`
    return [
      `drop index audit_records_by_agent`,
      `drop index audit_records_by_user`,
      `create index audit_records_by_agent on audit_records (agent_id, audit_id) where agent_id is not null and ${listed}`,
      `create index audit_records_by_user on audit_records (user_id, audit_id) where user_id is not null and ${listed}`,
      `drop index audit_records_by_pair`,
      `drop table audit_pairs`,
    ]
  },
}
