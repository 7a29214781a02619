import type { Migration } from '../platform/database/migrate.ts'

/** Which calls of a grant wait for a person, and the most that they may do. Earlier grants allow all calls. */
export const grantTerms: Migration = {
  number: 15,
  name: 'grant terms',
  statements: (_types, engine) => [
    `alter table grants add column mode text not null default 'allow_all'`,
    `alter table grants add column exceptions text not null default '[]'`,
    `alter table grants add column max_access text`,
    ...(engine === 'sqlite' ? [] : watched),
  ],
}

/** As in migration 7, and the columns that are new. */
const columns = [
  ...['grant_id', 'agent_id', 'kind', 'allowed_hosts', 'allowed_methods', 'allowed_paths', 'created_at'],
  ...['expires_at', 'revoked_at', 'user_id', 'connection_id', 'access_request_id', 'max_calls', 'revoked_by'],
  ...['receipt', 'is_signed', 'mode', 'exceptions', 'max_access'],
]

const watched = [
  `drop trigger grants_changed on grants`,
  `create constraint trigger grants_changed
    after delete or update of ${columns.join(', ')} on grants
    deferrable initially deferred for each row execute function note_authority_change()`,
]
