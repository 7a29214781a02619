import type { Migration } from '../platform/database/migrate.ts'

/** An access request for the sandbox has no provider. SQLite can't drop NOT NULL, so the column is replaced there. */
export const sandboxRequests: Migration = {
  number: 9,
  name: 'sandbox requests',
  statements: ({ number }, engine) => [
    ...(engine === 'postgres'
      ? [`alter table access_requests alter column provider_id drop not null`]
      : [
          `alter table access_requests add column new_provider_id text references providers`,
          `update access_requests set new_provider_id = provider_id`,
          `alter table access_requests drop column provider_id`,
          `alter table access_requests rename column new_provider_id to provider_id`,
        ]),
    `alter table callbacks add column is_sandbox ${number} not null default 0`,
    // For cleanup, and for the foreign keys between the two tables, which are checked at each delete.
    `create index grants_by_sandbox_end on grants (expires_at) where kind = 'sandbox'`,
    `create index grants_by_access_request on grants (access_request_id)`,
    `create index access_requests_by_grant on access_requests (grant_id)`,
  ],
}
