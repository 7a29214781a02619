import type { Migration } from '../platform/database/migrate.ts'

export const auditChain: Migration = {
  number: 4,
  name: 'audit chain',
  statements: ({ bytes, number, strict }) => {
    // A call's later records are found through its first, so they are not in the indexes for lists.
    const listed = `event not in ('proxy.hop', 'proxy.outcome')`
    return [
      `alter table audit_records add column connection_id text`,
      `alter table audit_records add column provider text`,
      `alter table audit_records add column outcome text`,
      `alter table audit_records add column chain text`,
      `alter table audit_records add column position ${number}`,
      `alter table audit_records add column hash ${bytes}`,
      `alter table audit_records add column mac ${bytes}`,
      `create unique index audit_records_by_chain on audit_records (chain, position)`,
      `create index audit_records_by_id on audit_records (audit_id)`,
      `drop index audit_records_by_agent`,
      `create index audit_records_by_agent on audit_records (agent_id, audit_id) where agent_id is not null and ${listed}`,
      `create index audit_records_by_user on audit_records (user_id, audit_id) where user_id is not null and ${listed}`,

      `create table audit_heads (
        chain text not null,
        position ${number} not null,
        hash ${bytes} not null,
        at ${number} not null,
        signature ${bytes} not null,
        primary key (chain, position)
      )${strict}`,

      `create table audit_stubs (
        chain text primary key,
        position ${number} not null,
        hash ${bytes} not null,
        at ${number} not null,
        signature ${bytes} not null
      )${strict}`,

      `create table audit_keys (
        purpose text primary key,
        public_key text not null,
        private_key ${bytes} not null,
        private_key_key_id text not null references vault_keys,
        created_at ${number} not null
      )${strict}`,
      `create index audit_keys_by_private_key_key on audit_keys (private_key_key_id)`,
    ]
  },
}
