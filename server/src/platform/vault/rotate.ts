/**
 * Rotates keys while the service runs: takes a new master key into use and encrypts every value again with a new data key.
 * It can be killed at any point: the new key is on disk before anything needs it, the old one is removed after nothing does,
 * and a second run finishes what the first began.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Database, Queries } from '../database/database.ts'
import { lockSchema } from '../database/migrate.ts'
import { DoesNotOpen } from './aes-gcm.ts'
import { addDataKey } from './vault.ts'
import type { Place, SealedColumn, SealedValue, Vault } from './vault.ts'
import type { MasterKey } from './master-keys.ts'

/** The master keys in the order of the setting. `write` is undefined unless they come from a file as they are. */
export interface MasterKeySource {
  read: () => MasterKey[] | Promise<MasterKey[]>
  write: ((keys: MasterKey[]) => void) | undefined
}

interface RotationNeeds {
  database: Database
  vault: Vault
  source: MasterKeySource
  sealedColumns: readonly SealedColumn[]
  newMasterKey: () => MasterKey
  clock: Clock
  onProgress: (line: string) => void
}

/** The operator has to act before keys can rotate. */
export class RotationRefused extends Error {
  override readonly name = 'RotationRefused'
}

const batchSize = 100
const shortestPauseMs = 20

export async function rotateKeys(needs: RotationNeeds): Promise<{ resealed: number }> {
  const { database, sealedColumns, onProgress } = needs
  const wasBegun = await beginRotation(needs)
  onProgress(wasBegun ? 'Continuing an unfinished rotation.' : 'A new data key is now in use.')
  let resealed = 0
  for (const column of sealedColumns) {
    for (let count = -1; count !== 0; resealed += count) {
      const startedAt = performance.now()
      count = await resealBatch(needs, column)
      if (count === 0) continue
      onProgress(`Re-encrypted ${resealed + count} values.`)
      // On SQLite a batch blocks other writers, which retry every few milliseconds: leave them time.
      await sleep(Math.max(shortestPauseMs, performance.now() - startedAt))
    }
  }
  await database.transaction(async (tx) => {
    await lockSchema(database, tx)
    // The foreign key refuses to delete a key that still encrypts a value.
    await tx.deleteFrom('vault_keys').where('active', 'is', null).execute()
  })
  await dropUnusedMasterKeys(needs)
  await emptyLog(database)
  return { resealed }
}

const logAttempts = 50

/**
 * SQLite's log still has old pages, which someone with the files and the old master key could decrypt. It can be truncated
 * only while nothing reads from it.
 */
async function emptyLog({ engine, queries }: Database): Promise<void> {
  if (engine !== 'sqlite') return
  for (let attempt = 1; attempt <= logAttempts; attempt++) {
    const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(queries)
    if (rows[0]?.busy === 0) return
    await sleep(100)
  }
  throw new RotationRefused(
    'Everything is re-encrypted, but the database log is in use and still contains the old values. Run this again.',
  )
}

/** Returns true if an earlier run has already begun. */
async function beginRotation({ database, source, newMasterKey, clock }: RotationNeeds): Promise<boolean> {
  return database.transaction(async (tx) => {
    await lockSchema(database, tx)
    const dataKeys = await tx.selectFrom('vault_keys').select(['active', 'master_key_id']).execute()
    if (dataKeys.some(({ active }) => active === null)) return true
    const keys = await source.read()
    const inUse = new Set(dataKeys.map(({ master_key_id }) => master_key_id))
    // Only the first key can be a new one: an unused key after it was retired.
    const [front] = keys
    const isGiven = front !== undefined && !inUse.has(front.id)
    const fresh = isGiven ? front : source.write && newMasterKey()
    if (!fresh) {
      throw new RotationRefused(
        'Configure every instance with the new master key before the old one (SALLYPORT_MASTER_KEY=new,old), then run this again.',
      )
    }
    source.write?.([fresh, ...keys.filter(({ id }) => id !== fresh.id)])
    await addDataKey(tx, fresh, clock())
    return false
  })
}

async function resealBatch({ database, vault }: RotationNeeds, column: SealedColumn): Promise<number> {
  return database.transaction(async (tx) => {
    const rows = await retiredRows(tx, column)
    for (const { place, sealed } of rows) {
      const secret = await vault.open(tx, column, place, sealed).catch((error: unknown) => {
        if (!(error instanceof DoesNotOpen)) throw error
        const { table, rowColumn } = column
        throw new RotationRefused(
          `The ${column.column} of ${table} where ${rowColumn} is ${place.row} cannot be decrypted. Restore or delete that row.`,
        )
      })
      await storeResealed(tx, column, place, sealed, await vault.seal(tx, column, place, secret))
    }
    return rows.length
  })
}

async function retiredRows(tx: Queries, column: SealedColumn): Promise<{ place: Place; sealed: SealedValue }[]> {
  const { rows } = await sql<{ row: string; owner: string; bytes: Uint8Array; key_id: string }>`
    select ${sql.ref(column.rowColumn)} as row, ${sql.ref(column.ownerColumn)} as owner,
      ${sql.ref(column.column)} as bytes, ${sql.ref(`${column.column}_key_id`)} as key_id
    from ${sql.table(column.table)}
    where ${sql.ref(`${column.column}_key_id`)} in (select key_id from vault_keys where active is null)
    limit ${sql.lit(batchSize)}`.execute(tx)
  return rows.map(({ row, owner, bytes, key_id }) => ({ place: { row, owner }, sealed: { bytes, keyId: key_id } }))
}

/** Only if the value has not changed since: a newer one is already encrypted with the new key. */
async function storeResealed(tx: Queries, column: SealedColumn, place: Place, old: SealedValue, fresh: SealedValue) {
  await sql`
    update ${sql.table(column.table)}
    set ${sql.ref(column.column)} = ${fresh.bytes}, ${sql.ref(`${column.column}_key_id`)} = ${fresh.keyId}
    where ${sql.ref(column.rowColumn)} = ${place.row} and ${sql.ref(column.column)} = ${old.bytes}`.execute(tx)
}

async function dropUnusedMasterKeys({ database, source }: RotationNeeds): Promise<void> {
  await database.transaction(async (tx) => {
    await lockSchema(database, tx)
    const dataKeys = await tx.selectFrom('vault_keys').select('master_key_id').execute()
    const inUse = new Set(dataKeys.map(({ master_key_id }) => master_key_id))
    const keys = await source.read()
    source.write?.(keys.filter(({ id }) => inUse.has(id)))
  })
}
