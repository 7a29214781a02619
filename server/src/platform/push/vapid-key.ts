/** The key that identifies the service to push services (RFC 8292). Subscriptions are bound to it, so it must not change. */
import { createECDH, generateKeyPairSync } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { Secret } from '../secret.ts'
import type { SecretSource } from '../config/settings.ts'
import type { SealedColumn, Vault } from '../vault/vault.ts'

declare module '../database/tables.ts' {
  interface Tables {
    vapid_keys: {
      purpose: string
      public_key: string
      private_key: Uint8Array
      private_key_key_id: string
      created_at: number
    }
  }
}

export const vapidPrivateKey: SealedColumn = {
  table: 'vapid_keys',
  column: 'private_key',
  rowColumn: 'purpose',
  ownerColumn: 'public_key',
}

export interface VapidKey {
  /** The uncompressed point in base64url, as a browser's `subscribe` takes it. */
  publicKey: string
  privateKey: Secret
}

/** Undefined unless it is a P-256 private key: 32 bytes in base64url. */
export function vapidKeyOf(privateKey: Secret): VapidKey | undefined {
  if (!privateKey.matches(/^[\w-]{43}$/)) return undefined
  const curve = createECDH('prime256v1')
  try {
    curve.setPrivateKey(Buffer.from(privateKey.reveal(), 'base64url'))
  } catch {
    return undefined
  }
  return { publicKey: curve.getPublicKey('base64url'), privateKey }
}

const purpose = 'web_push'

/** The configured key, or else the one in the database, which the first instance creates for all. */
export async function openVapidKey(needs: {
  database: Database
  vault: Vault
  clock: Clock
  given: SecretSource
}): Promise<VapidKey> {
  const { database, vault, clock } = needs
  const given = needs.given.read()
  const own = given && vapidKeyOf(given)
  if (own) return own
  return database.transaction(async (tx) => {
    const find = () => tx.selectFrom('vapid_keys').selectAll().where('purpose', '=', purpose).executeTakeFirst()
    let row = await find()
    if (!row) {
      const { publicKey, privateKey } = newVapidKey()
      const sealed = await vault.seal(tx, vapidPrivateKey, { row: purpose, owner: publicKey }, privateKey)
      await tx
        .insertInto('vapid_keys')
        .values({
          purpose,
          public_key: publicKey,
          private_key: sealed.bytes,
          private_key_key_id: sealed.keyId,
          created_at: clock().getTime(),
        })
        .onConflict((conflict) => conflict.column('purpose').doNothing())
        .execute()
      row = await find()
    }
    if (!row) throw new Error('the VAPID key was not stored')
    const sealed = { bytes: row.private_key, keyId: row.private_key_key_id }
    const place = { row: purpose, owner: row.public_key }
    return { publicKey: row.public_key, privateKey: await vault.open(tx, vapidPrivateKey, place, sealed) }
  })
}

export function newVapidKey(): VapidKey {
  // In a JWK it always has 32 bytes (RFC 7518 §6.2.2.1).
  const { d = '' } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })
  return vapidKeyOf(new Secret(d)) as VapidKey
}
