import type { Migration } from '../platform/database/migrate.ts'

/** All columns except those that change with every call and are never relied on to be current. */
const decisive = {
  agents: [],
  users: [],
  providers: [],
  connections: [
    ...['user_id', 'provider_id', 'status', 'account_id', 'account_label', 'api_host', 'scopes', 'access_token'],
    ...['access_token_key_id', 'refresh_token', 'refresh_token_key_id', 'expires_at', 'obtained_at', 'is_refreshed'],
    ...['version', 'refresh_lease', 'refresh_lease_until', 'created_at', 'revoked_at', 'remote_revocation'],
    ...['revoke_attempts', 'revoke_after', 'connection_id'],
  ],
  grants: [
    ...['grant_id', 'agent_id', 'kind', 'allowed_hosts', 'allowed_methods', 'allowed_paths', 'created_at'],
    ...['expires_at', 'revoked_at', 'user_id', 'connection_id', 'access_request_id', 'max_calls', 'revoked_by'],
    ...['receipt', 'is_signed'],
  ],
}

/**
 * On PostgreSQL, stores which transaction last changed existing rows that decide who may do what. Cached rows are valid
 * while it stays the same. It is written at commit, when all other locks are already held, to avoid deadlocks. SQLite
 * has a data version of its own.
 */
export const authority: Migration = {
  number: 7,
  name: 'authority',
  statements: ({ number }, engine) =>
    engine === 'sqlite'
      ? []
      : [
          `create table authority (
            is_only boolean primary key check (is_only),
            last_change ${number} not null
          )`,
          `insert into authority values (true, 0)`,
          `create function note_authority_change() returns trigger language plpgsql set search_path from current as $$
            begin
              update authority set last_change = txid_current() where last_change <> txid_current();
              return null;
            end
          $$`,
          ...Object.entries(decisive).map(
            ([table, columns]) =>
              `create constraint trigger ${table}_changed
                after delete or update ${columns.length > 0 ? `of ${columns.join(', ')}` : ''} on ${table}
                deferrable initially deferred for each row execute function note_authority_change()`,
          ),
        ],
}
