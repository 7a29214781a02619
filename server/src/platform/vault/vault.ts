/**
 * Encrypts values that must not be readable in the database. Each value is encrypted with a data key, and each data key with
 * the master key, which is never in the database. Table, column, row and owner are authenticated as associated data, so a
 * value that is moved elsewhere can't be decrypted.
 */
import { createSecretKey, randomBytes } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { lockSchema } from '../database/migrate.ts'
import { ServiceError } from '../errors.ts'
import { Secret } from '../secret.ts'
import { openBytes, sealBytes } from './aes-gcm.ts'
import type { MasterKey } from './master-keys.ts'

/** The column of an encrypted value. The id of its key is in `<column>_key_id`. */
export interface SealedColumn {
  table: string
  column: string
  /** The columns that identify the row and its owner. */
  rowColumn: string
  ownerColumn: string
}

export interface Place {
  row: string
  owner: string
}

export interface SealedValue {
  bytes: Uint8Array
  keyId: string
}

/** The given master keys can't decrypt all of the database's data keys. */
export class WrongMasterKey extends Error {
  constructor() {
    super('the master key does not match the one that encrypted this database')
    this.name = 'WrongMasterKey'
  }
}

interface VaultNeeds {
  database: Database
  /** Called again for a data key that none of the known master keys decrypts. */
  readMasterKeys: () => MasterKey[] | Promise<MasterKey[]>
  clock: Clock
}

export type Vault = Awaited<ReturnType<typeof openVault>>

export async function openVault(needs: VaultNeeds) {
  const ring = await openDataKeys(needs)
  const find = async (queries: Queries, keyId: string): Promise<KeyObject> => {
    const known = ring.get(keyId)
    if (known) return known
    const row = await queries.selectFrom('vault_keys').selectAll().where('key_id', '=', keyId).executeTakeFirst()
    if (!row) throw new ServiceError('not_ready', { detail: `data key ${keyId} is gone` })
    const key = openDataKey(await needs.readMasterKeys(), row)
    ring.set(keyId, key)
    return key
  }
  return {
    /** Call it in the transaction that stores the value: the key can't be retired before that ends. */
    seal: async (tx: Queries, column: SealedColumn, place: Place, secret: Secret): Promise<SealedValue> => {
      const keyId = await activeKeyId(needs.database, tx)
      const key = await find(tx, keyId)
      return { bytes: sealBytes(key, associatedData(column, place, keyId), Buffer.from(secret.reveal())), keyId }
    },
    open: async (queries: Queries, column: SealedColumn, place: Place, sealed: SealedValue): Promise<Secret> => {
      const { bytes, keyId } = sealed
      const key = await find(queries, keyId)
      return new Secret(openBytes(key, associatedData(column, place, keyId), bytes).toString())
    },
  }
}

/** Creates the first data key. If there are data keys already, checks that the master keys decrypt them. */
async function openDataKeys({ database, readMasterKeys, clock }: VaultNeeds): Promise<Map<string, KeyObject>> {
  return database.transaction(async (tx) => {
    await lockSchema(database, tx)
    const masterKeys = await readMasterKeys()
    const [anyKey] = await tx.selectFrom('vault_keys').select('key_id').limit(1).execute()
    const [newest] = masterKeys
    if (!newest) throw new WrongMasterKey()
    if (!anyKey) await addDataKey(tx, newest, clock())
    const rows = await tx.selectFrom('vault_keys').selectAll().execute()
    const opensAll = (keys: MasterKey[]) => rows.every((row) => keys.some(({ id }) => id === row.master_key_id))
    // The first read may be older than a rotation that has begun since; reading again under the lock is current.
    const current = opensAll(masterKeys) ? masterKeys : await readMasterKeys()
    if (!opensAll(current)) throw new WrongMasterKey()
    return new Map(rows.map((row) => [row.key_id, openDataKey(current, row)]))
  })
}

/** The new key becomes the one that encrypts. */
export async function addDataKey(tx: Queries, masterKey: MasterKey, now: Date): Promise<string> {
  const keyId = randomBytes(8).toString('hex')
  const sealedKey = sealBytes(masterKey.key, dataKeyAssociatedData(keyId), randomBytes(32))
  await tx.updateTable('vault_keys').set({ active: null }).where('active', '=', 1).execute()
  await tx
    .insertInto('vault_keys')
    .values({ key_id: keyId, active: 1, master_key_id: masterKey.id, sealed_key: sealedKey, created_at: now.getTime() })
    .execute()
  return keyId
}

/**
 * On PostgreSQL the row stays locked until the transaction ends; on SQLite transactions exclude each other. A query that
 * waited for a rotation finds the old row retired and does not see the new one yet: a second query does.
 */
async function activeKeyId({ engine }: Database, tx: Queries): Promise<string> {
  const query = tx
    .selectFrom('vault_keys')
    .select('key_id')
    .where('active', '=', 1)
    .$if(engine === 'postgres', (select) => select.forShare())
  const row = (await query.executeTakeFirst()) ?? (await query.executeTakeFirstOrThrow())
  return row.key_id
}

/** A data key as it is stored. */
export interface SealedDataKey {
  key_id: string
  master_key_id: string
  sealed_key: Uint8Array
}

/** Throws unless these master keys decrypt all of the data keys, of which there is at least one. */
export function assertOpensDataKeys(masterKeys: MasterKey[], rows: readonly SealedDataKey[]): void {
  const isKnown = rows.every((row) => masterKeys.some(({ id }) => id === row.master_key_id))
  if (!isKnown || rows.length === 0) throw new WrongMasterKey()
  for (const row of rows) openDataKey(masterKeys, row)
}

function openDataKey(masterKeys: MasterKey[], row: SealedDataKey) {
  const masterKey = masterKeys.find(({ id }) => id === row.master_key_id)
  if (!masterKey) throw new ServiceError('not_ready', { detail: `no master key ${row.master_key_id} is given` })
  return createSecretKey(openBytes(masterKey.key, dataKeyAssociatedData(row.key_id), row.sealed_key))
}

function associatedData({ table, column }: SealedColumn, { row, owner }: Place, keyId: string): string {
  return JSON.stringify(['sallyport.sealed.v1', table, column, row, owner, keyId])
}

function dataKeyAssociatedData(keyId: string): string {
  return JSON.stringify(['sallyport.data-key.v1', keyId])
}
