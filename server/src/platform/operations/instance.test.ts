import assert from 'node:assert/strict'
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fixedClock } from '../../../testkit/clock.ts'
import { temporaryFolder } from '../../../testkit/databases.ts'
import { readConfig } from '../../config/config.ts'
import type { Environment } from '../config/settings.ts'
import { migrate } from '../../migrations/migrations.ts'
import {
  adminTokenFile,
  databaseFile,
  masterKeySource,
  openDatabase,
  prepareDataDirectory,
  readAdminToken,
} from './instance.ts'
import { ConfigError } from '../config/settings.ts'
import { isWellFormedToken } from '../tokens.ts'
import { newMasterKey } from '../vault/master-keys.ts'
import { openVault } from '../vault/vault.ts'

const configIn = (folder: string, env: Environment = {}) => readConfig({ SALLYPORT_DATA_DIR: folder, ...env })
const idsOf = (keys: readonly { id: string }[]) => keys.map(({ id }) => id)

test('the data directory is restricted to its owner, even if it was open before', (t) => {
  const folder = join(temporaryFolder(t), 'deep', 'data')
  const config = configIn(folder)
  prepareDataDirectory(config)
  assert.equal(statSync(folder).mode & 0o777, 0o700)
  chmodSync(folder, 0o755)
  prepareDataDirectory(config)
  assert.equal(statSync(folder).mode & 0o777, 0o700)
})

test('a directory with other files in it is refused and its permissions are kept', (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'sallyport.db'), '')
  writeFileSync(join(folder, 'notes.txt'), '')
  chmodSync(folder, 0o755)
  assert.throws(() => {
    prepareDataDirectory(configIn(folder))
  }, ConfigError)
  assert.equal(statSync(folder).mode & 0o777, 0o755)
  rmSync(join(folder, 'notes.txt'))
  prepareDataDirectory(configIn(folder))
  assert.equal(statSync(folder).mode & 0o777, 0o700)
})

test('the first start creates the admin token and master key; later ones read them', async (t) => {
  const config = configIn(temporaryFolder(t))
  const token = readAdminToken(config).reveal()
  assert.ok(isWellFormedToken('admin', token))
  assert.equal(readAdminToken(config).reveal(), token)
  assert.equal(readFileSync(adminTokenFile(config) ?? '', 'utf8'), `${token}\n`)
  const keys = await masterKeySource(config).read()
  assert.equal(keys.length, 1)
  assert.deepEqual(idsOf(await masterKeySource(config).read()), idsOf(keys))
  assert.deepEqual(readdirSync(config.dataDir).sort(), ['admin-token', 'master-key'])
})

test('configured secrets are used, and none are created', async (t) => {
  const [token, key] = ['an-admin-token-of-32-characters-or-more', newMasterKey()]
  const given = { SALLYPORT_ADMIN_TOKEN: token, SALLYPORT_MASTER_KEY: key.text.reveal() }
  const config = configIn(temporaryFolder(t), given)
  assert.equal(readAdminToken(config).reveal(), token)
  const source = masterKeySource(config)
  assert.deepEqual(idsOf(await source.read()), [key.id])
  assert.equal(source.write, undefined)
  assert.equal(adminTokenFile(config), undefined)
  assert.deepEqual(readdirSync(config.dataDir), [])
})

test('a lost master key is not recreated if a database exists', async (t) => {
  const config = configIn(temporaryFolder(t))
  const source = masterKeySource(config)
  await source.read()
  const database = openDatabase(config)
  t.after(() => database.close())
  await migrate(database, fixedClock().now)
  await openVault({ database, readMasterKeys: source.read, clock: fixedClock().now })
  const file = join(config.dataDir, 'master-key')
  const kept = readFileSync(file)
  rmSync(file)
  const isAdvice = (error: unknown) =>
    error instanceof ConfigError && error.message.includes(file) && error.message.includes('Restore it')
  await assert.rejects(source.read(), isAdvice)
  await assert.rejects(masterKeySource(config).read(), isAdvice)
  assert.ok(!existsSync(file))
  writeFileSync(file, kept)
  await openVault({ database, readMasterKeys: source.read, clock: fixedClock().now })
})

test('an empty or invalid key file is reported, not replaced', async (t) => {
  const config = configIn(temporaryFolder(t))
  const file = join(config.dataDir, 'master-key')
  for (const content of ['', '\n', 'hush']) {
    writeFileSync(file, content)
    await assert.rejects(
      masterKeySource(config).read(),
      (error: unknown) => error instanceof ConfigError && error.message.includes(file) && !/hush/.test(error.message),
    )
    assert.equal(readFileSync(file, 'utf8'), content)
  }
})

test('an empty admin token file lets nobody in', (t) => {
  const config = configIn(temporaryFolder(t))
  for (const content of ['', ' \n']) {
    writeFileSync(join(config.dataDir, 'admin-token'), content)
    assert.throws(
      () => readAdminToken(config),
      (error: unknown) => error instanceof ConfigError && error.message.includes('admin-token'),
    )
  }
})

test('keys from a file are written back to it and read again', async (t) => {
  const folder = temporaryFolder(t)
  const [old, fresh] = [newMasterKey(), newMasterKey()]
  const file = join(folder, 'elsewhere')
  writeFileSync(file, old.text.reveal())
  for (const env of [{ SALLYPORT_MASTER_KEY_FILE: file }, {}]) {
    const source = masterKeySource(configIn(folder, env))
    source.write?.([fresh, ...(await source.read())])
    const read = await source.read()
    assert.deepEqual([read[0]?.id, read.length], [fresh.id, 2])
  }
  assert.ok(existsSync(file) && existsSync(join(folder, 'master-key')))
})

test('without DATABASE_URL the database is a file in the data directory', async (t) => {
  const config = configIn(temporaryFolder(t))
  const database = openDatabase(config)
  t.after(() => database.close())
  assert.equal(database.engine, 'sqlite')
  assert.equal(databaseFile(config), join(config.dataDir, 'sallyport.db'))
  assert.ok(existsSync(databaseFile(config)))
})

test('a journal of version 0.1 that holds calls stops the start, an empty one is removed', async (t) => {
  const config = configIn(temporaryFolder(t))
  const journal = `${databaseFile(config)}-calls`
  writeFileSync(journal, Buffer.concat([Buffer.alloc(4096), Buffer.from('a call')]))
  assert.throws(() => openDatabase(config), ConfigError)
  assert.ok(existsSync(journal), 'nothing is lost')
  writeFileSync(journal, Buffer.alloc(4096))
  await openDatabase(config).close()
  assert.ok(!existsSync(journal))
})
