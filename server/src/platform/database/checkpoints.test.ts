import assert from 'node:assert/strict'
import { renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { temporaryFolder } from '../../../testkit/databases.ts'
import { openLogHead } from './log-head.ts'
import { openSqlite } from './sqlite.ts'

test('a long log is moved into the file by another thread, and starts again from its beginning', async (t) => {
  const file = join(temporaryFolder(t), 'blobs.db')
  const database = openSqlite(file)
  t.after(() => database.close())
  const write = (bytes: number) => sql`insert into blobs values (zeroblob(${bytes}))`.execute(database.queries)
  await sql`create table blobs (blob blob)`.execute(database.queries)
  const pages = 5000
  await write(pages * 4096)
  const log = openLogHead(`${file}-shm`)
  t.after(log.close)
  assert.ok(log.frames().inLog > pages)
  while (statSync(file).size < pages * 4096) await sleep(5)
  while (log.frames().inLog > pages) {
    await write(4096)
    await sleep(5)
  }
})

test('a log that another process keeps from being moved holds up nobody', async (t) => {
  const file = join(temporaryFolder(t), 'blobs.db')
  const database = openSqlite(file)
  const other = openSqlite(file)
  t.after(() => Promise.all([database.close(), other.close()]))
  await sql`create table blobs (blob blob)`.execute(database.queries)
  await other.transaction(async (tx) => {
    await sql`select * from blobs`.execute(tx)
  })
  for (let count = 0; count < 3; count++)
    await sql`insert into blobs values (zeroblob(${5000 * 4096}))`.execute(database.queries)
  const { rows } = await sql<{ count: number }>`select count(*) as count from blobs`.execute(other.queries)
  assert.equal(rows[0]?.count, 3)
})

/** A log of so many pages that a reader keeps from being moved, until it is let go. */
async function heldLog(t: TestContext, pages: number) {
  const file = join(temporaryFolder(t), 'blobs.db')
  const database = openSqlite(file)
  await sql`create table blobs (blob blob)`.execute(database.queries)
  const reader = new DatabaseSync(file)
  t.after(async () => {
    if (reader.isOpen) reader.close()
    await database.close()
  })
  reader.exec('begin')
  reader.prepare('select count(*) from blobs').all()
  const write = (bytes: number) => sql`insert into blobs values (zeroblob(${bytes}))`.execute(database.queries)
  for (let written = 0; written < pages; written += 1000) await write(1000 * 4096)
  return {
    file,
    database,
    write,
    letGo: () => {
      reader.close()
    },
  }
}

test('no commit moves a long log, however long a reader has held it', async (t) => {
  const { file, database, write, letGo } = await heldLog(t, 30_000)
  letGo()
  const log = openLogHead(`${file}-shm`)
  t.after(log.close)
  // Nothing else runs before the commit has returned.
  const notes = [{ text: 'insert into blobs values (?)', rows: [['a']] }]
  const committed = database.noteAtOnce(notes)
  assert.ok(log.frames().waiting > 30_000)
  await committed
  // The thread moves it, and it begins anew.
  while (log.frames().inLog > 30_000) {
    await write(4096)
    await sleep(5)
  }
})

test('a file that is put in place of another is left its log by the thread', async (t) => {
  const { file, database, write, letGo } = await heldLog(t, 5_000)
  letGo()
  await database.noteAtOnce([{ text: 'insert into blobs values (?)', rows: [['a']] }])
  await write(4096)
  const backup = `${file}.backup`
  const copy = new DatabaseSync(file)
  copy.exec(`vacuum into '${backup}'`)
  copy.close()
  renameSync(backup, file)
  await write(4096)
  const log = statSync(`${file}-wal`).ino
  for (let count = 0; count < 20; count++) await sleep(10)
  assert.equal(statSync(`${file}-wal`).ino, log)
})
