import assert from 'node:assert/strict'
import { once } from 'node:events'
import { renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { sql } from 'kysely'
import { temporaryFolder } from '../../../testkit/databases.ts'
import { createCheckpoints } from './checkpoints.ts'
import { openWalFrames } from './wal-frames.ts'
import { openSqlite } from './sqlite.ts'

test('a long log is checkpointed, and restarts from its beginning', async (t) => {
  const file = join(temporaryFolder(t), 'blobs.db')
  const database = openSqlite(file)
  t.after(() => database.close())
  const write = (bytes: number) => sql`insert into blobs values (zeroblob(${bytes}))`.execute(database.queries)
  await sql`create table blobs (blob blob)`.execute(database.queries)
  const pages = 5000
  await write(pages * 4096)
  const log = openWalFrames(`${file}-shm`)
  t.after(log.close)
  assert.ok(log.count().inLog > pages)
  while (statSync(file).size < pages * 4096) await sleep(5)
  while (log.count().inLog > pages) {
    await write(4096)
    await sleep(5)
  }
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

test('no commit checkpoints a long log, however long a reader has blocked it', async (t) => {
  const { file, database, write, letGo } = await heldLog(t, 30_000)
  letGo()
  const log = openWalFrames(`${file}-shm`)
  t.after(log.close)
  // Nothing else runs before the commit has returned.
  const statements = [{ text: 'insert into blobs values (?)', rows: [['a']] }]
  const committed = database.runBatchTransaction(statements)
  assert.ok(log.count().waiting > 30_000)
  await committed
  // The thread moves it, and it begins anew.
  while (log.count().inLog > 30_000) {
    await write(4096)
    await sleep(5)
  }
})

/** Two connections to a file with a long log that nothing moves but what is returned. */
function openLongLog(t: TestContext, idleMs?: number) {
  const file = join(temporaryFolder(t), 'blobs.db')
  const [writer, other] = [new DatabaseSync(file), new DatabaseSync(file)]
  for (const connection of [writer, other]) {
    connection.exec('pragma journal_mode = wal')
    connection.exec('pragma wal_autocheckpoint = 0')
  }
  writer.exec('create table blobs (blob blob)')
  writer.exec(`insert into blobs values (zeroblob(${5_000 * 4096}))`)
  const log = openWalFrames(`${file}-shm`)
  t.after(() => {
    for (const connection of [writer, other]) connection.close()
    log.close()
  })
  return { writer, other, log, checkpoints: createCheckpoints(file, writer, log, idleMs) }
}

test('the event loop checkpoints only a few frames, after the thread could not catch up', async (t) => {
  const { writer, other, log, checkpoints } = openLongLog(t)
  const moved: number[] = []
  const exec = writer.exec.bind(writer)
  writer.exec = (text) => {
    if (text.includes('wal_checkpoint')) moved.push(log.count().waiting)
    exec(text)
  }
  // A transaction that began before the thread is done keeps the log from beginning anew: each round finds more.
  const commit = () => {
    other.exec('insert into blobs values (1)')
    other.exec('commit')
    other.exec('begin immediate')
  }
  other.exec('begin immediate')
  for (let round = 0; round < 1_000 && moved.length === 0; round++) {
    commit()
    checkpoints.committed()
    for (let more = 0; more < 3; more++) {
      await sleep(1)
      commit()
    }
  }
  other.exec('rollback')
  await checkpoints.close()
  assert.equal(moved.length, 1)
  assert.ok((moved[0] ?? Infinity) <= 250, `${moved[0]} were moved`)
})

test('after a close the thread has closed the file', async (t) => {
  const { log, checkpoints } = openLongLog(t)
  checkpoints.committed()
  const closed = checkpoints.close()
  const { waiting } = log.count()
  await closed
  assert.equal(waiting, 0)
})

test('an idle thread ends, and the next checkpoint starts another', async (t) => {
  const { writer, log, checkpoints } = openLongLog(t, 1)
  t.after(checkpoints.close)
  for (let count = 0; count < 2; count++) {
    const started = once(process, 'worker') as Promise<[Worker]>
    checkpoints.committed()
    const [thread] = await started
    await once(thread, 'exit')
    assert.equal(log.count().waiting, 0)
    writer.exec(`insert into blobs values (zeroblob(${5_000 * 4096}))`)
  }
})

test('the thread does not delete the log of a file that replaced the database', async (t) => {
  const { file, database, write, letGo } = await heldLog(t, 5_000)
  letGo()
  await database.runBatchTransaction([{ text: 'insert into blobs values (?)', rows: [['a']] }])
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
