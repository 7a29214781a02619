import assert from 'node:assert/strict'
import { createSecretKey, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { fixedClock } from '../../../testkit/clock.ts'
import { onBothDatabases, temporaryFolder } from '../../../testkit/databases.ts'
import { migratedDatabase } from '../../../testkit/open-database.ts'
import type { Database } from '../database/database.ts'
import { migrate } from '../../migrations/migrations.ts'
import { openSqlite } from '../database/sqlite.ts'
import { ServiceError } from '../errors.ts'
import { Secret } from '../secret.ts'
import { DoesNotOpen, sealBytes } from './aes-gcm.ts'
import { newMasterKey } from './master-keys.ts'
import type { MasterKey } from './master-keys.ts'
import { addDataKey, openVault, WrongMasterKey } from './vault.ts'
import type { Vault } from './vault.ts'

const clock = fixedClock().now
const column = { table: 'boxes', column: 'content', rowColumn: 'box_id', ownerColumn: 'owner_id' }
const place = { row: 'box_1', owner: 'ada' }

const openWith = (database: Database, ...keys: MasterKey[]) =>
  openVault({ database, readMasterKeys: () => keys, clock })

const sealText = (database: Database, vault: Vault, text: string) =>
  database.transaction((tx) => vault.seal(tx, column, place, new Secret(text)))

const keyRows = (database: Database) => database.queries.selectFrom('vault_keys').selectAll().execute()

onBothDatabases('the vault', (engine) => {
  test('decrypts what it encrypted', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    const vault = await openWith(database, newMasterKey())
    for (const text of ['', 'a token', 'ü\u0000\u{1f511}', 'x'.repeat(100_000)]) {
      const sealed = await sealText(database, vault, text)
      assert.equal((await vault.open(database.queries, column, place, sealed)).reveal(), text)
      assert.ok(!Buffer.from(sealed.bytes).includes('token'))
    }
  })

  test('decrypts it after a restart, also with a new master key before the old one', async (t) => {
    const open = await migratedDatabase(t, engine)
    const key = newMasterKey()
    const sealed = await sealText(open(), await openWith(open(), key), 'a token')
    for (const keys of [[key], [newMasterKey(), key]]) {
      const vault = await openWith(open(), ...keys)
      assert.equal((await vault.open(open().queries, column, place, sealed)).reveal(), 'a token')
    }
  })

  test('does not decrypt a value moved to another table, column, row or owner', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    const vault = await openWith(database, newMasterKey())
    const sealed = await sealText(database, vault, 'a token')
    const elsewhere = [
      [{ ...column, table: 'chests' }, place],
      [{ ...column, column: 'label' }, place],
      [column, { ...place, row: 'box_2' }],
      [column, { ...place, owner: 'eve' }],
      [column, { row: place.owner, owner: place.row }],
      [column, { row: 'box_1","ada', owner: '' }],
      [{ ...column, table: '', column: 'boxescontent' }, place],
    ] as const
    for (const [where, whose] of elsewhere) {
      await assert.rejects(vault.open(database.queries, where, whose, sealed), new DoesNotOpen())
    }
  })

  test('binds a value to its row and owner, whatever characters their ids have', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    const vault = await openWith(database, newMasterKey())
    const name = fc.string({ unit: fc.constantFrom('"', ',', '\\', '[', 'a', '\u0000'), maxLength: 4 })
    const places = fc.record({ row: name, owner: name })
    const property = fc.asyncProperty(places, places, async (one, other) => {
      fc.pre(one.row !== other.row || one.owner !== other.owner)
      const sealed = await database.transaction((tx) => vault.seal(tx, column, one, new Secret('a token')))
      await assert.rejects(vault.open(database.queries, column, other, sealed), new DoesNotOpen())
    })
    await fc.assert(property, { numRuns: 50 })
  })

  test('does not decrypt a value with a changed byte or another data key', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    const key = newMasterKey()
    const vault = await openWith(database, key)
    const sealed = await sealText(database, vault, 'a token')
    for (let index = 0; index < sealed.bytes.length; index++) {
      const bytes = Uint8Array.from(sealed.bytes, (byte, at) => (at === index ? byte ^ 1 : byte))
      await assert.rejects(vault.open(database.queries, column, place, { ...sealed, bytes }), new DoesNotOpen())
    }
    const keyId = await database.transaction((tx) => addDataKey(tx, key, clock()))
    await assert.rejects(vault.open(database.queries, column, place, { ...sealed, keyId }), new DoesNotOpen())
  })

  test('refuses to start with a wrong master key, and writes nothing', async (t) => {
    const open = await migratedDatabase(t, engine)
    const key = newMasterKey()
    await openWith(open(), key)
    const before = await keyRows(open())
    await assert.rejects(openWith(open(), newMasterKey()), WrongMasterKey)
    await assert.rejects(openWith(open(), newMasterKey(), newMasterKey()), WrongMasterKey)
    assert.deepEqual(await keyRows(open()), before)
  })

  test('refuses to start if the master key of one of two data keys is missing', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    const [old, fresh] = [newMasterKey(), newMasterKey()]
    await openWith(database, old)
    await database.transaction((tx) => addDataKey(tx, fresh, clock()))
    await assert.rejects(openWith(database, old), WrongMasterKey)
    await assert.rejects(openWith(database, fresh), WrongMasterKey)
    await openWith(database, fresh, old)
  })

  test('starts during a rotation that began after it read its keys', async (t) => {
    const open = await migratedDatabase(t, engine)
    const [old, fresh] = [newMasterKey(), newMasterKey()]
    await openWith(open(), old)
    await open().transaction((tx) => addDataKey(tx, fresh, clock()))
    const answers = [[old], [fresh, old]]
    const vault = await openVault({ database: open(), readMasterKeys: () => answers.shift() ?? [], clock })
    await sealText(open(), vault, 'a token')
    assert.deepEqual(answers, [])
  })

  test('creates one data key when instances open an empty database concurrently', async (t) => {
    const open = await migratedDatabase(t, engine)
    const key = newMasterKey()
    const instances = Array.from({ length: 5 }, open)
    const vaults = await Promise.all(instances.map((database) => openWith(database, key)))
    const rows = await keyRows(open())
    assert.deepEqual(
      rows.map(({ active, master_key_id }) => [active, master_key_id]),
      [[1, key.id]],
    )
    const sealed = await Promise.all(vaults.map((vault) => sealText(open(), vault, 'a token')))
    for (const [index, value] of sealed.entries()) {
      const other = vaults[(index + 1) % vaults.length]
      assert.equal((await other?.open(open().queries, column, place, value))?.reveal(), 'a token')
    }
  })

  test('does not encrypt with a data key that was planted in the database', async (t) => {
    const open = await migratedDatabase(t, engine)
    const key = newMasterKey()
    const vault = await openWith(open(), key)
    const planted = sealBytes(createSecretKey(randomBytes(32)), 'anything', randomBytes(32))
    const { queries } = open()
    await queries.updateTable('vault_keys').set({ active: null }).execute()
    const row = { key_id: 'planted', active: 1 as const, master_key_id: key.id, sealed_key: planted, created_at: 0 }
    await queries.insertInto('vault_keys').values(row).execute()
    await assert.rejects(sealText(open(), vault, 'a token'), new DoesNotOpen())
    await assert.rejects(openWith(open(), key), new DoesNotOpen())
  })

  test('a data key copied over another one does not decrypt', async (t) => {
    const open = await migratedDatabase(t, engine)
    const key = newMasterKey()
    await openWith(open(), key)
    const { queries } = open()
    await open().transaction((tx) => addDataKey(tx, key, clock()))
    const [one, two] = await queries.selectFrom('vault_keys').selectAll().orderBy('active').execute()
    assert.ok(one && two)
    await queries
      .updateTable('vault_keys')
      .set({ sealed_key: one.sealed_key })
      .where('key_id', '=', two.key_id)
      .execute()
    await assert.rejects(openWith(open(), key), new DoesNotOpen())
  })

  test('a value whose keys are missing is not_ready', async (t) => {
    const database = (await migratedDatabase(t, engine))()
    const vault = await openWith(database, newMasterKey())
    const sealed = await sealText(database, vault, 'a token')
    const isNotReady = (error: unknown) => error instanceof ServiceError && error.code === 'not_ready'
    await assert.rejects(vault.open(database.queries, column, place, { ...sealed, keyId: 'gone' }), isNotReady)
    await database.transaction((tx) => addDataKey(tx, newMasterKey(), clock()))
    await assert.rejects(sealText(database, vault, 'a token'), isNotReady)
    assert.equal((await vault.open(database.queries, column, place, sealed)).reveal(), 'a token')
  })
})

test('a stolen database file reveals neither values nor keys', async (t) => {
  const folder = temporaryFolder(t)
  const database = openSqlite(join(folder, 'sallyport.db'))
  t.after(() => database.close())
  await migrate(database, clock)
  const key = newMasterKey()
  const vault = await openWith(database, key)
  const { bytes, keyId } = await sealText(database, vault, 'correct-horse-battery-staple')
  await database.transaction((tx) =>
    tx
      .insertInto('vault_keys')
      .values({ key_id: 'with-it', active: null, master_key_id: keyId, sealed_key: bytes, created_at: 0 })
      .execute(),
  )
  const stolen = Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))))
  assert.ok(stolen.includes(Buffer.from(bytes)), 'the sealed value is there')
  const exported = key.key.export()
  for (const form of ['correct-horse', key.text.reveal(), exported.toString('hex'), exported]) {
    assert.ok(!stolen.includes(form))
  }
})
