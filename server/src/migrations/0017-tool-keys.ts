import type { Migration } from '../platform/database/migrate.ts'

/** Keys that an agent's tools use instead of its token. */
export const toolKeys: Migration = {
  number: 17,
  name: 'tool keys',
  statements: ({ bytes, number, strict }, engine) => [
    `create table tool_keys (
      key_id text primary key,
      agent_id text not null references agents,
      agent_token_hash ${bytes} not null,
      key_hash ${bytes} not null unique,
      created_at ${number} not null,
      expires_at ${number} not null,
      last_used_at ${number}
    )${strict}`,
    `create index tool_keys_by_agent on tool_keys (agent_id, key_id)`,
    `create index tool_keys_by_expires_at on tool_keys (expires_at)`,

    `create table tool_key_grants (
      key_id text not null references tool_keys on delete cascade,
      grant_id text not null references grants,
      primary key (key_id, grant_id)
    )${strict}`,
    `create index tool_key_grants_by_grant on tool_key_grants (grant_id)`,
    ...(engine === 'sqlite' ? [] : [watched]),
  ],
}

/** As in migration 7: all columns but last_used_at. */
const watched = `create constraint trigger tool_keys_changed
  after delete or update of key_id, agent_id, agent_token_hash, key_hash, created_at, expires_at on tool_keys
  deferrable initially deferred for each row execute function note_authority_change()`
