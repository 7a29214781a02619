import assert from 'node:assert/strict'
import { copyFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { sql } from 'kysely'
import { temporaryFolder } from '../../../testkit/databases.ts'
import type { Database } from './database.ts'
import { openSqlite } from './sqlite.ts'

const write = ({ queries }: Database, word: string) =>
  sql`insert into words values (${word}, ${'x'.repeat(2000)})`.execute(queries)

async function words({ queries }: Database): Promise<string[]> {
  const { rows } = await sql<{ word: string }>`select word from words order by word`.execute(queries)
  return rows.map(({ word }) => word)
}

/** A database with one word in it, its backup, and then so many words that its log was written to the file and begun anew. */
async function backedUp(t: Parameters<typeof temporaryFolder>[0]) {
  const file = join(temporaryFolder(t), 'words.db')
  const open = () => {
    const database = openSqlite(file)
    t.after(() => database.close())
    return database
  }
  const database = open()
  await sql`create table words (word text primary key, filler text)`.execute(database.queries)
  await write(database, 'first')
  await sql`pragma wal_checkpoint(truncate)`.execute(database.queries)
  const backup = `${file}.backup`
  copyFileSync(file, backup)
  for (let count = 1000; count < 1450; count++) {
    await write(database, `later ${count}`)
    if (count === 1400) await sql`pragma wal_checkpoint(passive)`.execute(database.queries)
  }
  return { file, backup, database, open }
}

function integrityOf(file: string): unknown {
  const other = new DatabaseSync(file)
  const [found] = other.prepare('pragma integrity_check').all()
  other.close()
  return found?.['integrity_check']
}

test('a backup that replaces the file is used from then on, and the old log is not replayed into it', async (t) => {
  const { file, backup, database } = await backedUp(t)
  renameSync(backup, file)
  assert.deepEqual(await words(database), ['first'])
  await write(database, 'second')
  assert.deepEqual(await words(database), ['first', 'second'])
  assert.equal(integrityOf(file), 'ok')
})

test('the file that a backup replaced keeps everything that was written to it', async (t) => {
  const { file, backup, database } = await backedUp(t)
  renameSync(file, `${file}.aside`)
  renameSync(backup, file)
  assert.deepEqual(await words(database), ['first'])
  assert.equal(integrityOf(`${file}.aside`), 'ok')
  const aside = openSqlite(`${file}.aside`)
  t.after(() => aside.close())
  assert.equal((await words(aside)).length, 451)
})

test('a second instance switches to the backup too, without losing writes of the first', async (t) => {
  const { file, backup, database, open } = await backedUp(t)
  const second = open()
  assert.equal((await words(second)).length, 451)
  renameSync(backup, file)
  await write(database, 'by the first')
  await write(second, 'by the second')
  for (const one of [database, second]) assert.deepEqual(await words(one), ['by the first', 'by the second', 'first'])
  assert.equal(integrityOf(file), 'ok')
})
