import type { Migration } from '../platform/database/migrate.ts'

export const providersAndConnections: Migration = {
  number: 2,
  name: 'providers and connections',
  statements: ({ bytes, number, strict }) => {
    const sealed = (column: string) => `${column} ${bytes}, ${column}_key_id text references vault_keys`
    const byKey = (table: string, column: string) =>
      `create index ${table}_by_${column}_key on ${table} (${column}_key_id)`
    return [
      `create table providers (
        provider_id text primary key,
        slug text unique,
        name text not null,
        source text not null,
        preset text,
        proposed_by text references agents,
        status text not null,
        metadata text not null,
        discovery_url text,
        scopes text not null,
        api_hosts text not null,
        client_id text,
        ${sealed('client_secret')},
        auth_method text not null,
        authorization_params text not null,
        injection text not null,
        allow_range ${number} not null,
        registration_error text,
        created_at ${number} not null,
        updated_at ${number} not null,
        deleted_at ${number}
      )${strict}`,
      byKey('providers', 'client_secret'),

      `create table connections (
        connection_id text primary key,
        user_id text not null references users,
        provider_id text not null references providers,
        status text not null,
        account_id text,
        account_label text,
        api_host text,
        scopes text not null,
        ${sealed('access_token')},
        ${sealed('refresh_token')},
        expires_at ${number},
        obtained_at ${number} not null,
        is_refreshed ${number} not null,
        version ${number} not null,
        refresh_lease text,
        refresh_lease_until ${number},
        created_at ${number} not null,
        last_used_at ${number},
        revoked_at ${number},
        remote_revocation text,
        revoke_attempts ${number} not null,
        revoke_after ${number}
      )${strict}`,
      `create index connections_by_user on connections (user_id, connection_id)`,
      `create unique index connections_by_account on connections (user_id, provider_id, account_id)
        where status <> 'revoked'`,
      `create index connections_by_provider on connections (provider_id)`,
      `create index connections_by_revoke_after on connections (revoke_after)`,
      `create index connections_by_refresh_lease on connections (refresh_lease_until)`,
      byKey('connections', 'access_token'),
      byKey('connections', 'refresh_token'),

      `create table former_tokens (
        former_token_id text primary key,
        connection_id text not null references connections,
        ${sealed('token')},
        expires_at ${number} not null
      )${strict}`,
      `create index former_tokens_by_connection on former_tokens (connection_id)`,
      byKey('former_tokens', 'token'),

      `create table connect_flows (
        flow_id text primary key,
        state_hash ${bytes} not null unique,
        user_id text not null references users,
        provider_id text not null references providers,
        connection_id text references connections,
        scopes text not null,
        redirect_after text not null,
        ${sealed('verifier')},
        nonce text,
        created_at ${number} not null,
        expires_at ${number} not null,
        used_at ${number},
        waiting_hash ${bytes} unique,
        ${sealed('answer')}
      )${strict}`,
      byKey('connect_flows', 'verifier'),
      byKey('connect_flows', 'answer'),

      `create table device_flows (
        device_flow_id text primary key,
        user_id text not null references users,
        provider_id text not null references providers,
        connection_id text references connections,
        scopes text not null,
        ${sealed('device_code')},
        interval_seconds ${number} not null,
        next_poll_at ${number} not null,
        created_at ${number} not null,
        expires_at ${number} not null,
        outcome text,
        made_connection_id text references connections
      )${strict}`,
      byKey('device_flows', 'device_code'),

      `create table identities (
        issuer text not null,
        subject text not null,
        user_id text not null references users,
        created_at ${number} not null,
        primary key (issuer, subject)
      )${strict}`,
      `create unique index identities_by_user on identities (user_id)`,

      `create table login_flows (
        flow_id text primary key,
        cookie_hash ${bytes} not null unique,
        state_hash ${bytes} not null,
        provider text not null,
        redirect_after text not null,
        ${sealed('verifier')},
        nonce text,
        created_at ${number} not null,
        expires_at ${number} not null
      )${strict}`,
      `create index login_flows_by_expires_at on login_flows (expires_at)`,
      byKey('login_flows', 'verifier'),
    ]
  },
}
