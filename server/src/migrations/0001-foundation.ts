import type { Migration } from '../platform/database/migrate.ts'

export const foundation: Migration = {
  number: 1,
  name: 'foundation',
  statements: ({ bytes, number, sequence, strict }) => [
    `create table vault_keys (
      key_id text primary key,
      active ${number} unique check (active = 1),
      master_key_id text not null,
      sealed_key ${bytes} not null,
      created_at ${number} not null
    )${strict}`,

    `create table rate_limits (
      key text primary key,
      full_at ${number} not null
    )${strict}`,

    `create table agents (
      agent_id text primary key,
      name text not null,
      owner_user_id text not null,
      metadata text not null,
      token_hash ${bytes} not null unique,
      created_at ${number} not null,
      disabled_at ${number}
    )${strict}`,

    `create table users (
      user_id text primary key,
      handle text unique,
      name text,
      email text unique,
      created_at ${number} not null,
      disabled_at ${number}
    )${strict}`,

    `create table login_tokens (
      token_hash ${bytes} primary key,
      user_id text not null references users,
      created_at ${number} not null,
      expires_at ${number} not null,
      used_at ${number}
    )${strict}`,

    `create table sessions (
      session_id text primary key,
      user_id text not null references users,
      token_hash ${bytes} not null unique,
      created_at ${number} not null,
      last_seen_at ${number} not null,
      expires_at ${number} not null,
      revoked_at ${number}
    )${strict}`,
    `create index sessions_by_user on sessions (user_id)`,

    `create table grants (
      grant_id text primary key,
      agent_id text not null references agents,
      kind text not null,
      allowed_hosts text not null,
      allowed_methods text,
      allowed_paths text,
      created_at ${number} not null,
      expires_at ${number},
      revoked_at ${number},
      calls ${number} not null,
      last_used_at ${number}
    )${strict}`,
    `create index grants_by_agent on grants (agent_id)`,

    `create table sandboxes (
      agent_id text primary key references agents,
      grant_id text not null references grants,
      token ${bytes} not null,
      token_key_id text not null references vault_keys
    )${strict}`,
    `create index sandboxes_by_grant on sandboxes (grant_id)`,
    `create index sandboxes_by_key on sandboxes (token_key_id)`,

    `create table audit_records (
      sequence ${sequence},
      audit_id text not null,
      event text not null,
      at ${number} not null,
      request_id text,
      agent_id text,
      user_id text,
      grant_id text,
      detail text not null
    )${strict}`,
    `create index audit_records_by_agent on audit_records (agent_id, sequence)`,
  ],
}
