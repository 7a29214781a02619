import assert from 'node:assert/strict'
import { fdatasyncSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { temporaryFolder } from '../../../testkit/databases.ts'
import type { Database } from './database.ts'
import { isUnavailable } from './failures.ts'
import { createSync, openWalSync, syncData } from './wal-sync.ts'
import type { Sync } from './wal-sync.ts'
import { openSqlite } from './sqlite.ts'

async function databaseWith(t: TestContext, sync: Sync, file = join(temporaryFolder(t), 'letters.db')) {
  const database = openSqlite(file, sync)
  t.after(() => database.close())
  await sql`create table letters (letter text primary key)`.execute(database.queries)
  return database
}

const insert = (queries: Database['queries'], letter: string) =>
  sql`insert into letters values (${letter})`.execute(queries)

/** A disk that stores nothing while it is held. */
function slowDisk() {
  let gate: PromiseWithResolvers<undefined> | undefined
  let count = 0
  return {
    sync: async (fd: number) => {
      count++
      await gate?.promise
      await syncData(fd)
    },
    hold: () => {
      gate = Promise.withResolvers()
    },
    release: () => {
      gate?.resolve(undefined)
      gate = undefined
    },
    count: () => count,
  }
}

const ways: Record<string, (database: Database, letter: string) => Promise<unknown>> = {
  'a statement': ({ queries }, letter) => insert(queries, letter),
  'a transaction': (database, letter) => database.transaction((tx) => insert(tx, letter)),
  'a batch transaction': async (database, letter) => {
    await database.runBatchTransaction([{ text: 'insert into letters values (?)', rows: [[letter]] }])
    await database.durable()
  },
}

for (const [way, write] of Object.entries(ways)) {
  test(`${way}: resolves only after the fsync, which does not block the event loop`, async (t) => {
    const disk = slowDisk()
    const database = await databaseWith(t, disk.sync)
    disk.hold()
    let isResolved = false
    const written = write(database, 'a').then(() => (isResolved = true))
    for (let turn = 0; turn < 50; turn++) await nextTurn()
    assert.equal(isResolved, false)
    disk.release()
    await written
  })

  test(`${way}: fails if the fsync fails, and nothing can be written after that`, async (t) => {
    let isBroken = false
    const file = join(temporaryFolder(t), 'letters.db')
    const sync: Sync = (fd) => (isBroken ? Promise.reject(new Error('EIO: i/o error, fdatasync')) : syncData(fd))
    const database = await databaseWith(t, sync, file)
    isBroken = true
    await assert.rejects(write(database, 'a'), (error) => isUnavailable(error))
    // The kernel says that all is well, after it has dropped what it could not write.
    isBroken = false
    for (const again of Object.values(ways)) {
      await assert.rejects(again(database, 'b'), (error) => isUnavailable(error))
    }
    const other = new DatabaseSync(file)
    assert.deepEqual(other.prepare(`select 1 from letters where letter = 'b'`).all(), [])
    other.close()
  })
}

test('commits that arrive during an fsync share the next one', async (t) => {
  const disk = slowDisk()
  const database = await databaseWith(t, disk.sync)
  disk.hold()
  const before = disk.count()
  const written = Array.from('abcdefghij', (letter) => database.transaction((tx) => insert(tx, letter)))
  for (let turn = 0; turn < 50; turn++) await nextTurn()
  disk.release()
  await Promise.all(written)
  assert.ok(disk.count() - before <= 2, `${disk.count() - before} times`)
})

test('a commit waits for an fsync that began after it', async (t) => {
  const { promise: gate, resolve: release } = Promise.withResolvers<undefined>()
  let began = 0
  const database = await databaseWith(t, async (fd) => {
    // What comes later is not covered by this one.
    fdatasyncSync(fd)
    if (++began === 2) await gate
  })
  const first = database.transaction((tx) => insert(tx, 'a'))
  while (began < 2) await nextTurn()
  let isResolved = false
  const second = database.transaction((tx) => insert(tx, 'b')).then(() => (isResolved = true))
  for (let turn = 0; turn < 50; turn++) await nextTurn()
  assert.equal(began, 2)
  release(undefined)
  await first
  assert.equal(isResolved, false)
  await second
  assert.equal(began, 3)
})

test('a close syncs what was committed, and leaves no promise unsettled', async (t) => {
  const log = join(temporaryFolder(t), 'log')
  writeFileSync(log, '')
  const disk = slowDisk()
  let syncedAtClose = 0
  const { durable, close } = openWalSync(log, disk.sync, () => syncedAtClose++)
  disk.hold()
  const first = durable()
  while (disk.count() === 0) await nextTurn()
  const second = durable()
  close()
  assert.equal(syncedAtClose, 1)
  disk.release()
  await Promise.all([first, second])
})

test('a fast disk is synced on the event loop, a slow one in the thread pool until it is fast again', async () => {
  let [time, diskMs, atOnce, inPool] = [0, 0.1, 0, 0]
  const sync = createSync(
    () => {
      atOnce++
      time += diskMs
    },
    () => {
      inPool++
      return Promise.resolve()
    },
    () => time,
  )
  const times = async (count: number) => {
    const before = { atOnce, inPool }
    for (let index = 0; index < count; index++) await sync(3)
    return { atOnce: atOnce - before.atOnce, inPool: inPool - before.inPool }
  }
  assert.deepEqual(await times(100), { atOnce: 100, inPool: 0 })
  diskMs = 100
  await times(1)
  diskMs = 0.1
  assert.deepEqual(await times(100), { atOnce: 100, inPool: 0 }, 'a single slow one changes nothing')
  diskMs = 20
  assert.deepEqual(await times(2000), { atOnce: 3, inPool: 1997 })
  diskMs = 0.1
  const { atOnce: timed } = await times(100_000)
  assert.ok(timed > 1000, `${timed} times on the event loop`)
})

test('a sync that fails on the event loop rejects', async () => {
  const failing = createSync(() => {
    throw new Error('EIO: i/o error, fdatasync')
  })
  await assert.rejects(failing(3), /EIO/)
})
