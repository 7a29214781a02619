import type { Migration } from '../platform/database/migrate.ts'

/** Calls that wait for a person, and approvals that repeat. */
export const heldCalls: Migration = {
  number: 16,
  name: 'held calls',
  statements: ({ bytes, number, strict }) => {
    const sealed = (column: string) => `${column} ${bytes}, ${column}_key_id text references vault_keys`
    const byKey = (table: string, column: string) =>
      `create index ${table}_by_${column}_key on ${table} (${column}_key_id)`
    return [
      `create table held_calls (
        call_id text primary key,
        agent_id text not null references agents,
        user_id text not null references users,
        grant_id text not null references grants,
        token_hash ${bytes} not null,
        digest text not null,
        access text not null,
        term text not null,
        status text not null,
        ${sealed('request')},
        ${sealed('shown')},
        ${sealed('response')},
        size ${number} not null,
        created_at ${number} not null,
        expires_at ${number} not null,
        decided_at ${number},
        decided_by text references users,
        decision text,
        denial_reason text,
        audit_id text,
        deadline ${number},
        ended_at ${number},
        upstream_status ${number},
        is_sent ${number} not null default 0,
        error text
      )${strict}`,
      `create index held_calls_by_agent on held_calls (agent_id, status, call_id)`,
      `create index held_calls_by_user on held_calls (user_id, status, call_id)`,
      `create index held_calls_by_digest on held_calls (agent_id, digest)`,
      `create index held_calls_by_size on held_calls (agent_id, size) where size > 0`,
      `create index held_calls_by_status on held_calls (status, expires_at)`,
      `create index held_calls_by_response on held_calls (ended_at) where response is not null`,
      `create index held_calls_by_grant on held_calls (grant_id)`,
      byKey('held_calls', 'request'),
      byKey('held_calls', 'shown'),
      byKey('held_calls', 'response'),

      `create table call_repeats (
        repeat_id text primary key,
        agent_id text not null references agents,
        user_id text not null references users,
        grant_id text not null references grants,
        call_id text not null,
        match_hash text not null,
        ${sealed('shown')},
        calls_left ${number} not null,
        created_at ${number} not null,
        expires_at ${number} not null,
        revoked_at ${number}
      )${strict}`,
      `create index call_repeats_by_match on call_repeats (match_hash, expires_at)`,
      `create index call_repeats_by_user on call_repeats (user_id, repeat_id)`,
      `create index call_repeats_by_agent on call_repeats (agent_id)`,
      `create index call_repeats_by_grant on call_repeats (grant_id)`,
      `create index call_repeats_by_expires_at on call_repeats (expires_at)`,
      byKey('call_repeats', 'shown'),

      `alter table keyed_calls add column held_call_id text`,
      `create index keyed_calls_by_held_call on keyed_calls (held_call_id) where held_call_id is not null`,
    ]
  },
}
