import type { Migration } from '../platform/database/migrate.ts'

/** Makes each call write a narrow row instead of the whole grant, and one index entry instead of two. */
export const cheaperCalls: Migration = {
  number: 8,
  name: 'cheaper calls',
  statements: ({ number, dense }) => {
    const listed = `event not in ('proxy.hop', 'proxy.outcome')`
    return [
      // A call and a revocation both have to write the same row: the second one then sees the first.
      `create table grant_usage (
        grant_id text primary key references grants on delete cascade,
        calls ${number} not null,
        last_used_at ${number},
        is_open ${number} not null
      )${dense}`,
      `insert into grant_usage (grant_id, calls, last_used_at, is_open)
        select grant_id, calls, last_used_at, case when revoked_at is null then 1 else 0 end from grants
        order by grant_id`,
      `alter table grants drop column calls`,
      `alter table grants drop column last_used_at`,

      // Records are indexed by user and agent together. This table says which pairs have records.
      `create table audit_pairs (
        user_id text not null,
        agent_id text not null,
        primary key (user_id, agent_id)
      )${dense}`,
      `create index audit_pairs_by_agent on audit_pairs (agent_id, user_id)`,
      `insert into audit_pairs (user_id, agent_id)
        select distinct user_id, agent_id from audit_records
        where user_id is not null and agent_id is not null and ${listed}`,
      `drop index audit_records_by_agent`,
      `drop index audit_records_by_user`,
      `create index audit_records_by_pair on audit_records (user_id, agent_id, audit_id)
        where user_id is not null and agent_id is not null and ${listed}`,
      `create index audit_records_by_agent on audit_records (agent_id, audit_id)
        where agent_id is not null and user_id is null and ${listed}`,
      `create index audit_records_by_user on audit_records (user_id, audit_id)
        where user_id is not null and agent_id is null and ${listed}`,
    ]
  },
}
