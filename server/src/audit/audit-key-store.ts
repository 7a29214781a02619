/**
 * The key of the audit log. It is stored encrypted: access to the database is not enough to sign or to compute MACs.
 */
import { createPrivateKey, createPublicKey, createSecretKey, generateKeyPairSync, hkdfSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type { Queries } from '../platform/database/database.ts'
import { Secret } from '../platform/secret.ts'
import type { SealedColumn, Vault } from '../platform/vault/vault.ts'

declare module '../platform/database/tables.ts' {
  interface Tables {
    audit_keys: {
      purpose: string
      public_key: string
      private_key: Uint8Array
      private_key_key_id: string
      created_at: number
    }
  }
}

export const auditPrivateKey: SealedColumn = {
  table: 'audit_keys',
  column: 'private_key',
  rowColumn: 'purpose',
  ownerColumn: 'public_key',
}

/** An Ed25519 key pair for signatures that others can check, and the key of the MAC at the end of each commit. */
export interface AuditKey {
  publicKey: KeyObject
  privateKey: KeyObject
  macKey: KeyObject
}

const purpose = 'heads'

export type AuditKeyStore = ReturnType<typeof createAuditKeyStore>

export function createAuditKeyStore(vault: Vault) {
  const find = async (queries: Queries): Promise<AuditKey | undefined> => {
    const row = await queries.selectFrom('audit_keys').selectAll().where('purpose', '=', purpose).executeTakeFirst()
    if (!row) return undefined
    const sealed = { bytes: row.private_key, keyId: row.private_key_key_id }
    const pem = await vault.open(queries, auditPrivateKey, { row: purpose, owner: row.public_key }, sealed)
    const privateKey = createPrivateKey(pem.reveal())
    // Not from the column `public_key`, which anyone with access to the database could have changed.
    return { privateKey, publicKey: createPublicKey(privateKey), macKey: macKeyOf(privateKey) }
  }
  return {
    find,

    /** The first instance creates it, for all of them. */
    findOrMake: async (tx: Queries, now: Date): Promise<AuditKey> => {
      const known = await find(tx)
      if (known) return known
      const { publicKey, privateKey } = generateKeyPairSync('ed25519')
      const publicPem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
      const privatePem = new Secret(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
      const sealed = await vault.seal(tx, auditPrivateKey, { row: purpose, owner: publicPem }, privatePem)
      await tx
        .insertInto('audit_keys')
        .values({
          purpose,
          public_key: publicPem,
          private_key: sealed.bytes,
          private_key_key_id: sealed.keyId,
          created_at: now.getTime(),
        })
        .onConflict((conflict) => conflict.column('purpose').doNothing())
        .execute()
      const kept = await find(tx)
      if (!kept) throw new Error('the key of the audit was not stored')
      return kept
    },
  }
}

function macKeyOf(privateKey: KeyObject): KeyObject {
  const secret = privateKey.export({ type: 'pkcs8', format: 'der' })
  return createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'sallyport.audit.mac.v1', 32)))
}
