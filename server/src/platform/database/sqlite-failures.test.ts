import assert from 'node:assert/strict'
import { copyFileSync, existsSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { sql } from 'kysely'
import { temporaryFolder } from '../../../testkit/databases.ts'
import { keys, newSqliteFile, put } from '../../../testkit/sqlite-file.ts'
import type { Database, Queries } from './database.ts'
import { isUnavailable } from './failures.ts'
import { openSqlite } from './sqlite.ts'

async function assertUnavailable(work: Promise<unknown>): Promise<void> {
  await assert.rejects(work, (error) => isUnavailable(error))
}

async function everyKindOfCallIsUnavailable(database: Database): Promise<void> {
  await assertUnavailable(put(database.queries, 'lost'))
  await assertUnavailable(database.transaction((tx) => put(tx, 'lost')))
  await assertUnavailable(keys(database))
}

test('a file that was moved away makes the database unavailable, until it is back', async (t) => {
  const { database, file } = await newSqliteFile(t)
  await put(database.queries, 'before')
  renameSync(file, `${file}.away`)
  await everyKindOfCallIsUnavailable(database)
  assert.ok(!existsSync(file), 'no new file is made in its place')
  renameSync(`${file}.away`, file)
  await put(database.queries, 'after')
  assert.deepEqual(await keys(database), ['after', 'before'])
})

test('a file that was deleted makes the database unavailable, until a copy is put in its place', async (t) => {
  const { database, file } = await newSqliteFile(t)
  await put(database.queries, 'before')
  await sql`pragma wal_checkpoint(truncate)`.execute(database.queries)
  const copy = `${file}.copy`
  copyFileSync(file, copy)
  await put(database.queries, 'not in the copy')
  for (const name of [file, `${file}-wal`, `${file}-shm`]) rmSync(name)
  await everyKindOfCallIsUnavailable(database)
  renameSync(copy, file)
  assert.deepEqual(await keys(database), ['before'])
  await database.transaction((tx) => put(tx, 'after'))
  const other = openSqlite(file)
  t.after(() => other.close())
  assert.deepEqual(await keys(other), ['after', 'before'], 'what is written reaches the new file')
})

test('an empty file counts as lost', async (t) => {
  const { database, file } = await newSqliteFile(t)
  await put(database.queries, 'before')
  truncateSync(file)
  await everyKindOfCallIsUnavailable(database)
  assert.equal(statSync(file).size, 0)
})

/** What the next start would find if the process were killed now. */
async function keysAfterCrash(t: TestContext, file: string): Promise<string[]> {
  const copy = join(temporaryFolder(t), 'copy.db')
  for (const end of ['', '-wal']) if (existsSync(file + end)) copyFileSync(file + end, copy + end)
  const database = openSqlite(copy)
  t.after(() => database.close())
  return keys(database)
}

const losses: Record<string, (path: string) => void> = {
  removed: (path) => {
    rmSync(path)
  },
  renamed: (path) => {
    renameSync(path, `${path}.away`)
  },
  replaced: (path) => {
    copyFileSync(path, `${path}.copy`)
    renameSync(`${path}.copy`, path)
  },
}

for (const log of ['-wal', '-shm']) {
  for (const [how, lose] of Object.entries(losses)) {
    test(`a commit survives a crash although ${log} was ${how} before it`, async (t) => {
      const { database, file } = await newSqliteFile(t)
      await put(database.queries, '1')
      lose(file + log)
      await put(database.queries, '2')
      assert.deepEqual(await keysAfterCrash(t, file), ['1', '2'])
      await database.transaction((tx) => put(tx, '3'))
      assert.deepEqual(await keysAfterCrash(t, file), ['1', '2', '3'])
    })
  }
}

test('a restored file is used with the same safety as the first one', async (t) => {
  const { database, file } = await newSqliteFile(t)
  await sql`pragma wal_checkpoint(truncate)`.execute(database.queries)
  copyFileSync(file, `${file}.copy`)
  renameSync(`${file}.copy`, file)
  for (const [name, expected] of Object.entries({ journal_mode: 'wal', synchronous: 1, foreign_keys: 1 })) {
    const { rows } = await sql<Record<string, unknown>>`pragma ${sql.raw(name)}`.execute(database.queries)
    assert.equal(rows[0]?.[name], expected)
  }
})

/** The database may hold no more pages than it has: what a full disk looks like, except that it can be lifted. */
async function fillDisk({ queries }: Database): Promise<() => Promise<void>> {
  const limit = (pages: number) => sql`pragma max_page_count = ${sql.lit(pages)}`.execute(queries)
  await limit(1)
  return async () => {
    await limit(1_000_000)
  }
}

const large = (name: string) => `${name} ${'x'.repeat(20_000)}`

test('a full disk makes single writes unavailable, and they recover by themselves', async (t) => {
  const { database } = await newSqliteFile(t)
  await put(database.queries, 'before')
  const makeRoom = await fillDisk(database)
  await assertUnavailable(put(database.queries, large('lost')))
  await assertUnavailable(put(database.queries, large('lost')))
  assert.deepEqual(await keys(database), ['before'], 'what is there can be read')
  await makeRoom()
  await put(database.queries, large('after'))
  assert.deepEqual(await keys(database), [large('after'), 'before'])
})

test('a full disk rolls a transaction back, and the next one recovers', async (t) => {
  const { database } = await newSqliteFile(t)
  const makeRoom = await fillDisk(database)
  const work = async (tx: Queries) => {
    await put(tx, 'small')
    await put(tx, large('large'))
  }
  await assertUnavailable(database.transaction(work))
  assert.deepEqual(await keys(database), [])
  await makeRoom()
  await database.transaction(work)
  assert.deepEqual(await keys(database), [large('large'), 'small'])
})

test('a transaction that continues after the disk was full writes nothing and fails', async (t) => {
  const { database } = await newSqliteFile(t)
  await fillDisk(database)
  const work = (end: () => void) =>
    database.transaction(async (tx) => {
      await put(tx, 'before')
      await put(tx, large('lost')).catch(() => undefined)
      await put(tx, 'behind').catch(() => undefined)
      end()
    })
  const thrown = work(() => {
    throw new Error('no')
  })
  await assert.rejects(thrown, /no/)
  assert.deepEqual(await keys(database), [])
  await assertUnavailable(work(() => undefined))
  assert.deepEqual(await keys(database), [])
})
