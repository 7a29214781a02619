import type { Migration } from '../platform/database/migrate.ts'

/** The authority whose certificates the gateway shows to tools. There are two around the time when one replaces another. */
export const gateway: Migration = {
  number: 18,
  name: 'gateway',
  statements: ({ bytes, number, strict }) => [
    `create table gateway_authorities (
      authority_id text primary key,
      generation ${number} not null unique,
      certificate text not null,
      private_key ${bytes} not null,
      private_key_key_id text not null references vault_keys,
      created_at ${number} not null
    )${strict}`,
    `create index gateway_authorities_by_key on gateway_authorities (private_key_key_id)`,
  ],
}
