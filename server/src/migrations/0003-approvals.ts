import type { Migration } from '../platform/database/migrate.ts'

export const approvals: Migration = {
  number: 3,
  name: 'approvals',
  statements: ({ bytes, number, strict }) => {
    const sealed = (column: string) => `${column} ${bytes}, ${column}_key_id text references vault_keys`
    const byKey = (table: string, column: string) =>
      `create index ${table}_by_${column}_key on ${table} (${column}_key_id)`
    return [
      `alter table users add column requires_device ${number} not null default 0`,

      `create table pairing_codes (
        code_hash ${bytes} primary key,
        user_id text not null references users,
        created_at ${number} not null,
        expires_at ${number} not null,
        used_at ${number}
      )${strict}`,

      `create table devices (
        device_id text primary key,
        user_id text not null references users,
        name text,
        platform text not null,
        token_hash ${bytes} not null unique,
        public_key text,
        key_thumbprint text,
        key_enrolled_at ${number},
        ${sealed('push_token')},
        push_environment text not null,
        created_at ${number} not null,
        last_seen_at ${number} not null,
        revoked_at ${number}
      )${strict}`,
      `create index devices_by_user on devices (user_id, device_id)`,
      byKey('devices', 'push_token'),

      `create table challenges (
        challenge_id text primary key,
        device_id text not null references devices,
        user_id text not null references users,
        subject text not null,
        nonce text not null,
        decision text,
        created_at ${number} not null,
        expires_at ${number} not null,
        used_at ${number}
      )${strict}`,
      `create index challenges_by_expires_at on challenges (expires_at)`,

      `create table access_requests (
        access_request_id text primary key,
        agent_id text not null references agents,
        provider_id text not null references providers,
        user_hint text,
        user_id text references users,
        hosts text,
        methods text,
        paths text,
        max_calls ${number},
        reason text,
        status text not null,
        created_at ${number} not null,
        expires_at ${number} not null,
        decided_at ${number},
        decided_by text references users,
        decided_on text references devices,
        denial_reason text,
        grant_id text references grants
      )${strict}`,
      `create index access_requests_by_agent on access_requests (agent_id, status)`,
      `create index access_requests_by_user on access_requests (user_id, status, access_request_id)`,
      `create index access_requests_by_expires_at on access_requests (status, expires_at)`,

      `alter table grants add column user_id text references users`,
      `alter table grants add column connection_id text references connections`,
      `alter table grants add column access_request_id text references access_requests`,
      `alter table grants add column max_calls ${number}`,
      `alter table grants add column revoked_by text`,
      `alter table grants add column receipt text`,
      `alter table grants add column is_signed ${number} not null default 0`,
      `create index grants_by_user on grants (user_id, grant_id)`,
      `create index grants_by_connection on grants (connection_id)`,

      `create table callbacks (
        delivery_id text primary key,
        access_request_id text not null unique references access_requests,
        agent_id text not null references agents,
        url text not null,
        ${sealed('secret')},
        status text not null,
        payload text,
        attempts ${number} not null,
        attempt_after ${number},
        is_leased ${number} not null,
        give_up_after ${number},
        last_error text,
        created_at ${number} not null
      )${strict}`,
      `create index callbacks_by_attempt_after on callbacks (attempt_after)`,
      byKey('callbacks', 'secret'),

      `create table pushes (
        push_id text primary key,
        device_id text not null references devices,
        access_request_id text not null,
        message text not null,
        created_at ${number} not null,
        expires_at ${number} not null,
        attempts ${number} not null,
        attempt_after ${number} not null,
        is_leased ${number} not null
      )${strict}`,
      `create index pushes_by_attempt_after on pushes (attempt_after)`,
      `create index pushes_by_device on pushes (device_id)`,
      `create index pushes_by_access_request on pushes (access_request_id)`,

      `create table vapid_keys (
        purpose text primary key,
        public_key text not null,
        ${sealed('private_key')},
        created_at ${number} not null
      )${strict}`,
      byKey('vapid_keys', 'private_key'),

      `create table muted_agents (
        user_id text not null references users,
        agent_id text not null references agents,
        muted_at ${number} not null,
        muted_until ${number},
        primary key (user_id, agent_id)
      )${strict}`,
    ]
  },
}
