import type { Migration } from '../platform/database/migrate.ts'

/** Providers list the ways in which their API is authenticated. A connection uses one, and may hold what it needs. */
export const credentials: Migration = {
  number: 12,
  name: 'credentials',
  statements: ({ bytes }, engine) => [
    `alter table providers add column auth_methods text not null default
      '[{"kind":"oauth2","name":"oauth2","label":null,"help":null,"members":[],"inject":[],"check":null}]'`,
    `alter table connections add column auth_method text not null default 'oauth2'`,
    `alter table connections add column credential ${bytes}`,
    `alter table connections add column credential_key_id text references vault_keys`,
    `create index connections_by_credential_key on connections (credential_key_id)`,
    ...(engine === 'sqlite' ? [] : watched),
  ],
}

/** As in migration 7, and the columns that are new. */
const columns = [
  ...['user_id', 'provider_id', 'status', 'account_id', 'account_label', 'api_host', 'scopes', 'access_token'],
  ...['access_token_key_id', 'refresh_token', 'refresh_token_key_id', 'expires_at', 'obtained_at', 'is_refreshed'],
  ...['version', 'refresh_lease', 'refresh_lease_until', 'created_at', 'revoked_at', 'remote_revocation'],
  ...['revoke_attempts', 'revoke_after', 'connection_id', 'auth_method', 'credential', 'credential_key_id'],
]

const watched = [
  `drop trigger connections_changed on connections`,
  `create constraint trigger connections_changed
    after delete or update of ${columns.join(', ')} on connections
    deferrable initially deferred for each row execute function note_authority_change()`,
]
