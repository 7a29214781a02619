import type { Migration } from '../platform/database/migrate.ts'

export const legacyV1: Migration = {
  number: 6,
  name: 'legacy-v1',
  statements: ({ bytes, number, strict }) => [
    // The current key has 1, which is unique. Previous keys have null.
    `create table v1_service_keys (
      key_id text primary key,
      current ${number} unique,
      public_key text not null,
      private_key ${bytes} not null,
      private_key_key_id text not null references vault_keys,
      created_at ${number} not null,
      retired_at ${number}
    )${strict}`,
    `create index v1_service_keys_by_private_key on v1_service_keys (private_key_key_id)`,
    `create table v1_clients (
      client_uuid text primary key,
      label text,
      metadata text not null,
      generation ${number} not null,
      lookup_key ${bytes} not null,
      lookup_key_key_id text not null references vault_keys,
      stored_bytes ${number} not null,
      created_at ${number} not null,
      authenticated_at ${number}
    )${strict}`,
    `create index v1_clients_by_lookup_key on v1_clients (lookup_key_key_id)`,
    `create index v1_clients_unseen on v1_clients (created_at) where authenticated_at is null`,
    // A retired key is kept, so that it can't be registered again.
    `create table v1_client_keys (
      fingerprint text primary key,
      client_uuid text not null references v1_clients,
      public_key text not null,
      key_id text,
      created_at ${number} not null,
      retired_at ${number}
    )${strict}`,
    `create unique index v1_client_keys_active on v1_client_keys (client_uuid) where retired_at is null`,
    `create index v1_client_keys_by_client on v1_client_keys (client_uuid)`,
    `create table v1_rotations (
      client_uuid text not null references v1_clients,
      generation ${number} not null,
      old_fingerprint text not null,
      new_fingerprint text not null,
      at ${number} not null,
      primary key (client_uuid, generation)
    )${strict}`,
    `create table v1_challenges (
      challenge_id text primary key,
      client_uuid text not null references v1_clients,
      nonce_hash ${bytes} not null,
      status text not null,
      created_at ${number} not null,
      expires_at ${number} not null
    )${strict}`,
    `create index v1_challenges_by_client on v1_challenges (client_uuid, status)`,
    `create index v1_challenges_by_expires_at on v1_challenges (expires_at)`,
    // item_id is an HMAC of namespace and key, so that neither is readable here.
    `create table v1_items (
      item_id text primary key,
      client_uuid text not null references v1_clients,
      content ${bytes} not null,
      content_key_id text not null references vault_keys,
      size ${number} not null,
      updated_at ${number} not null
    )${strict}`,
    `create index v1_items_by_client on v1_items (client_uuid, size)`,
    `create index v1_items_by_content_key on v1_items (content_key_id)`,
  ],
}
