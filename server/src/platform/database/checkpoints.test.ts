import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { temporaryFolder } from '../../../testkit/databases.ts'
import { openSqlite } from './sqlite.ts'

test('a long log is moved into the file by another thread, and starts again from its beginning', async (t) => {
  const file = join(temporaryFolder(t), 'blobs.db')
  const database = openSqlite(file)
  t.after(() => database.close())
  const write = (bytes: number) => sql`insert into blobs values (zeroblob(${bytes}))`.execute(database.queries)
  await sql`create table blobs (blob blob)`.execute(database.queries)
  const pages = 5000
  await write(pages * 4096)
  const logBytes = statSync(`${file}-wal`).size
  assert.ok(logBytes > pages * 4096)
  while (statSync(file).size < pages * 4096) await sleep(5)
  // Were it not begun again, it would be longer by then.
  for (let count = 0; count < 20; count++) await write(4096)
  assert.equal(statSync(`${file}-wal`).size, logBytes)
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
