import type { Migration } from '../platform/database/migrate.ts'

export const idempotency: Migration = {
  number: 5,
  name: 'idempotency',
  statements: ({ bytes, number, strict }) => [
    // No foreign key to the grant: a sandbox grant is deleted a day after it ends, before its keys.
    `create table keyed_calls (
      key_hash text primary key,
      agent_id text not null references agents,
      grant_id text not null,
      audit_id text not null,
      request_hash text not null,
      instance_id text not null,
      size ${number} not null,
      answer ${bytes},
      answer_key_id text references vault_keys,
      deadline ${number} not null,
      ended_at ${number},
      expires_at ${number} not null
    )${strict}`,
    `create index keyed_calls_by_agent on keyed_calls (agent_id, size)`,
    `create index keyed_calls_by_expires_at on keyed_calls (expires_at)`,
    `create index keyed_calls_by_answer_key on keyed_calls (answer_key_id)`,
  ],
}
