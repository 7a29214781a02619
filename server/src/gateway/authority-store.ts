import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type { Queries } from '../platform/database/database.ts'
import { Secret } from '../platform/secret.ts'
import type { SealedColumn, Vault } from '../platform/vault/vault.ts'
import type { Authority } from './authority.ts'

interface Row {
  /** The SHA-256 of the certificate. */
  authority_id: string
  generation: number
  certificate: string
  private_key: Uint8Array
  private_key_key_id: string
  created_at: number
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    gateway_authorities: Row
  }
}

/** Bound to its certificate, which is not secret but must not be replaced. */
export const authorityPrivateKey: SealedColumn = {
  table: 'gateway_authorities',
  column: 'private_key',
  rowColumn: 'authority_id',
  ownerColumn: 'certificate',
}

export type NewAuthority = Pick<Authority, 'generation' | 'certificate'> & { privateKey: KeyObject; createdAt: Date }

/** What anyone may know of one. */
export type PublicAuthority = Pick<Authority, 'generation' | 'certificate' | 'notAfter'>

/** Oldest first. */
export async function listAuthorities(queries: Queries): Promise<PublicAuthority[]> {
  const rows = await queries
    .selectFrom('gateway_authorities')
    .select(['generation', 'certificate'])
    .orderBy('generation')
    .execute()
  return rows.map((row) => ({ ...row, notAfter: new X509Certificate(row.certificate).validToDate }))
}

export type AuthorityStore = ReturnType<typeof createAuthorityStore>

export function createAuthorityStore(vault: Vault) {
  return {
    list: listAuthorities,

    /** With its private key. */
    find: async (queries: Queries, generation: number): Promise<Authority | undefined> => {
      const row = await queries
        .selectFrom('gateway_authorities')
        .selectAll()
        .where('generation', '=', generation)
        .executeTakeFirst()
      if (!row) return undefined
      const { certificate } = row
      const sealed = { bytes: row.private_key, keyId: row.private_key_key_id }
      const place = { row: row.authority_id, owner: certificate }
      const pem = await vault.open(queries, authorityPrivateKey, place, sealed)
      const { validToDate: notAfter, subject } = new X509Certificate(certificate)
      const commonName = subject.replace(/^CN=/, '')
      return { generation, certificate, commonName, notAfter, privateKey: createPrivateKey(pem.reveal()) }
    },

    /** If another instance has stored one of this generation at the same time, that one stays. */
    insert: async (tx: Queries, { generation, certificate, privateKey, createdAt }: NewAuthority): Promise<void> => {
      const pem = new Secret(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
      const authorityId = new X509Certificate(certificate).fingerprint256
      const place = { row: authorityId, owner: certificate }
      const sealed = await vault.seal(tx, authorityPrivateKey, place, pem)
      await tx
        .insertInto('gateway_authorities')
        .values({
          authority_id: authorityId,
          generation,
          certificate,
          private_key: sealed.bytes,
          private_key_key_id: sealed.keyId,
          created_at: createdAt.getTime(),
        })
        .onConflict((conflict) => conflict.column('generation').doNothing())
        .execute()
    },

    delete: async (tx: Queries, generation: number): Promise<void> => {
      await tx.deleteFrom('gateway_authorities').where('generation', '=', generation).execute()
    },
  }
}
