import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { temporaryFolder } from '../../../testkit/databases.ts'
import { keys, newSqliteFile, put } from '../../../testkit/sqlite-file.ts'
import { Busy } from '../limits/semaphore.ts'
import { versionOf } from './database.ts'
import { isRolledBack } from './failures.ts'
import { openSqlite } from './sqlite.ts'

/** Another process that runs this code, with `openSqlite`, `sql` and the file at hand, once it is told to. */
function otherProcess(file: string, code: string) {
  const script = `
    import { openSqlite } from ${JSON.stringify(import.meta.resolve('./sqlite.ts'))}
    import { sql } from ${JSON.stringify(import.meta.resolve('kysely'))}
    import { once } from 'node:events'
    const file = ${JSON.stringify(file)}
    process.stdout.write('ready.')
    await once(process.stdin, 'data')
    ${code}
    process.exit()`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit').then(([status]) => status as number | null)
  const ready = once(child.stdout, 'data')
  return { child, ended, ready }
}

test('WAL mode and foreign keys are on', async (t) => {
  const { database } = await newSqliteFile(t)
  const pragma = async (name: string) =>
    Object.values((await sql<Record<string, unknown>>`pragma ${sql.raw(name)}`.execute(database.queries)).rows[0] ?? {})
  assert.deepEqual(await pragma('journal_mode'), ['wal'])
  // The log is synced by log-sync.ts, the file by SQLite.
  assert.deepEqual(await pragma('synchronous'), [1])
  assert.deepEqual(await pragma('foreign_keys'), [1])
  const orphan = sql`insert into login_tokens values (${Buffer.of(1)}, 'nobody', 0, 0, null, 0)`.execute(
    database.queries,
  )
  await assert.rejects(orphan, /FOREIGN KEY/)
})

test('a commit that fails leaves no transaction open', async (t) => {
  const { database } = await newSqliteFile(t)
  const failed = database.transaction(async (tx) => {
    await sql`pragma defer_foreign_keys = on`.execute(tx)
    await put(tx, 'a')
    await sql`insert into login_tokens values (${Buffer.of(1)}, 'nobody', 0, 0, null, 0)`.execute(tx)
  })
  await assert.rejects(failed, /FOREIGN KEY/)
  assert.deepEqual(await keys(database), [])
  await database.transaction((tx) => put(tx, 'b'))
  assert.deepEqual(await keys(database), ['b'])
})

test('calls wait for a transaction, and transactions run in order of arrival', async (t) => {
  const { database } = await newSqliteFile(t)
  const order: string[] = []
  const named = (name: string) => () => order.push(name)
  const { promise: gate, resolve: open } = Promise.withResolvers<undefined>()
  const first = database
    .transaction(async (tx) => {
      await put(tx, 'a')
      await gate
      await put(tx, 'b')
    })
    .then(named('first'))
  const second = keys(database).then((found) => {
    assert.deepEqual(found, ['a', 'b'])
  })
  const third = database.transaction((tx) => put(tx, 'c')).then(named('third'))
  open(undefined)
  await Promise.all([third, second, first])
  assert.deepEqual(order, ['first', 'third'])
})

test('a transaction that awaits something stays atomic', async (t) => {
  const { database } = await newSqliteFile(t)
  const outcomes = await Promise.allSettled(
    ['a', 'b', 'c', 'd'].map((name, index) =>
      database.transaction(async (tx) => {
        for (const part of ['1', '2', '3']) {
          await put(tx, name + part)
          await new Promise(setImmediate)
        }
        if (index % 2 === 1) throw new Error('no')
      }),
    ),
  )
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
  )
  assert.deepEqual(await keys(database), ['a1', 'a2', 'a3', 'c1', 'c2', 'c3'])
})

test('two processes that write at once lose nothing', async (t) => {
  const { database, file } = await newSqliteFile(t)
  const code = `
    const database = openSqlite(file)
    for (let count = 0; count < 60; count++) {
      await database.transaction(async (tx) => {
        await sql\`insert into rate_limits values (\${process.pid + ' ' + count}, 0)\`.execute(tx)
        await sql\`update rate_limits set full_at = full_at + 1 where key = 'sum'\`.execute(tx)
      })
    }`
  await put(database.queries, 'sum')
  const writers = [otherProcess(file, code), otherProcess(file, code)]
  await Promise.all(writers.map(({ ready }) => ready))
  for (const { child } of writers) child.stdin.write('go')
  assert.deepEqual(await Promise.all(writers.map(({ ended }) => ended)), [0, 0])
  assert.equal((await keys(database)).length, 121)
  const sum = await database.queries.selectFrom('rate_limits').select('full_at').where('key', '=', 'sum').execute()
  assert.equal(sum[0]?.full_at, 120)
})

test('several processes may open a new file at once', async (t) => {
  const file = join(temporaryFolder(t), 'sallyport.db')
  const code = `
    for (let index = 0; index < 40; index++) {
      const database = openSqlite(file + index)
      await sql\`create table if not exists t (x)\`.execute(database.queries)
    }`
  const openers = Array.from({ length: 4 }, () => otherProcess(file, code))
  await Promise.all(openers.map(({ ready }) => ready))
  for (const { child } of openers) child.stdin.write('go')
  assert.deepEqual(await Promise.all(openers.map(({ ended }) => ended)), [0, 0, 0, 0])
})

test('while another process holds the write lock, writers wait without blocking the event loop', async (t) => {
  const { database, file } = await newSqliteFile(t)
  const other = new DatabaseSync(file)
  other.exec('begin immediate')
  const writing = database.transaction((tx) => put(tx, 'a'))
  let turns = 0
  const timer = setInterval(() => {
    if (++turns === 3) other.exec('commit')
  }, 1)
  t.after(() => {
    clearInterval(timer)
    other.close()
  })
  await writing
  assert.ok(turns >= 3)
  assert.deepEqual(await keys(database), ['a'])
})

test('waiting for a lock of another process never blocks the event loop', async (t) => {
  const { database, file } = await newSqliteFile(t)
  const query = sql<{ timeout: number }>`select timeout from pragma_busy_timeout`
  assert.equal((await query.execute(database.queries)).rows[0]?.timeout, 0)
  const other = new DatabaseSync(file)
  t.after(() => {
    other.close()
  })
  other.exec('begin immediate')
  const statement = { text: 'insert into rate_limits values (?, 0)', rows: [['a']] }
  assert.equal(database.runBatchTransaction([statement]), undefined)
  other.exec('rollback')
  await database.runBatchTransaction([statement])
  assert.deepEqual(await keys(database), ['a'])
})

test('the unfinished transaction of a killed process is rolled back', async (t) => {
  const { database, file } = await newSqliteFile(t)
  const code = `
    const database = openSqlite(file)
    await sql\`insert into rate_limits values ('committed', 0)\`.execute(database.queries)
    await database.transaction(async (tx) => {
      await sql\`insert into rate_limits values ('half', 0)\`.execute(tx)
      process.kill(process.pid, 'SIGKILL')
    })`
  const { child, ended, ready } = otherProcess(file, code)
  await ready
  child.stdin.write('go')
  assert.equal(await ended, null)
  assert.deepEqual(await keys(database), ['committed'])
  await put(database.queries, 'after')
})

test('prepared statements are cached, and more than fit into the cache work too', async (t) => {
  const { database } = await newSqliteFile(t)
  for (let round = 0; round < 2; round++) {
    for (let count = 0; count < 600; count++) {
      const { rows } = await sql<{ a: number }>`select ${sql.lit(count)} as a`.execute(database.queries)
      assert.equal(rows[0]?.a, count)
    }
  }
})

test('a cached statement works after another instance has changed the table', async (t) => {
  const { database, file } = await newSqliteFile(t)
  const other = openSqlite(file)
  t.after(() => other.close())
  await sql`create table shelf (a integer)`.execute(database.queries)
  await sql`insert into shelf values (1)`.execute(database.queries)
  const read = async () => ({ ...(await sql<object>`select * from shelf`.execute(database.queries)).rows[0] })
  assert.deepEqual(await read(), { a: 1 })
  await sql`alter table shelf add column b text default 'new'`.execute(other.queries)
  assert.deepEqual(await read(), { a: 1, b: 'new' })
})

test('a write returns how many rows it changed', async (t) => {
  const { database } = await newSqliteFile(t)
  for (const key of ['a', 'b', 'c']) await put(database.queries, key)
  const [result] = await database.queries.deleteFrom('rate_limits').where('key', '>', 'a').execute()
  assert.equal(result?.numDeletedRows, 2n)
})

test('a batch transaction is atomic', async (t) => {
  const { database } = await newSqliteFile(t)
  const statement = (...rows: string[][]) => ({
    text: 'insert or ignore into rate_limits (key, full_at) values (?, ?)',
    rows,
  })
  await database.runBatchTransaction([statement(['a', '1'], ['b', '1']), statement(['a', '2'])])
  assert.deepEqual(await keys(database), ['a', 'b'])

  const unchanging = database.runBatchTransaction([
    statement(['c', '1']),
    { ...statement(['d', '1'], ['a', '2']), mustChange: true },
  ])
  await assert.rejects(unchanging ?? Promise.resolve(), isRolledBack)
  const failing = database.runBatchTransaction([
    statement(['c', '1']),
    { text: 'insert into rate_limits (key) values (?)', rows: [['d']] },
  ])
  await assert.rejects(failing ?? Promise.resolve(), isRolledBack)
  assert.deepEqual(await keys(database), ['a', 'b'])
  await database.transaction((tx) => put(tx, 'e'))
  assert.deepEqual(await keys(database), ['a', 'b', 'e'])
})

test('a batch transaction whose commit fails is not reported as rolled back', async (t) => {
  const { database } = await newSqliteFile(t)
  await sql`pragma foreign_keys = on`.execute(database.queries)
  const failing = database.runBatchTransaction([
    { text: 'pragma defer_foreign_keys = on', rows: [[]] },
    { text: `insert into login_tokens values (?, 'nobody', 0, 0, null, 0)`, rows: [[Buffer.of(1)]] },
  ])
  await assert.rejects(
    failing ?? Promise.resolve(),
    (error) => error instanceof Error && /FOREIGN KEY/.test(error.message) && !isRolledBack(error),
  )
  await database.transaction((tx) => put(tx, 'a'))
  assert.deepEqual(await keys(database), ['a'])
})

test('there is no batch transaction within a transaction, while another process writes, or if the file is gone', async (t) => {
  const { database, file } = await newSqliteFile(t)
  const statement = { text: 'insert into rate_limits (key, full_at) values (?, ?)', rows: [['a', '1']] }
  await database.transaction(async (tx) => {
    assert.equal(database.runBatchTransaction([statement]), undefined)
    await put(tx, 'b')
    assert.equal(database.runBatchTransaction([statement]), undefined)
  })
  const other = new DatabaseSync(file)
  other.exec('begin immediate')
  assert.equal(database.runBatchTransaction([statement]), undefined)
  other.exec('rollback')
  other.close()
  assert.deepEqual(await keys(database), ['b'])
  await database.runBatchTransaction([statement])
  assert.deepEqual(await keys(database), ['a', 'b'])
  renameSync(file, `${file}-away`)
  assert.equal(database.runBatchTransaction([statement]), undefined)
  renameSync(`${file}-away`, file)
})

test('a write by another process changes the version, even in the same tick', async (t) => {
  const { database, file } = await newSqliteFile(t)
  const other = new DatabaseSync(file)
  const versions = await new Promise<unknown[]>((resolve) => {
    setImmediate(() => {
      const before = [versionOf(database.queries), versionOf(database.queries)]
      other.exec(`insert into rate_limits (key, full_at) values ('a', '1')`)
      process.nextTick(() => {
        resolve([...before, versionOf(database.queries)])
      })
    })
  })
  other.close()
  assert.equal(versions[0], versions[1])
  assert.notEqual(versions[1], versions[2])
})

test('a caller that waits too long for the connection, or behind too many, gets busy', async (t) => {
  const folder = temporaryFolder(t)
  const database = openSqlite(join(folder, 'a.db'), undefined, { maxWaiting: 3, maxWaitMs: 100 })
  t.after(() => database.close())
  const release = Promise.withResolvers<undefined>()
  const holding = database.transaction(() => release.promise)
  const write = () => database.transaction((tx) => sql`select 1`.execute(tx))
  const waiting = [1, 2, 3].map(() => write().catch((error: unknown) => error))
  await new Promise(setImmediate)
  await assert.rejects(write(), Busy)
  assert.ok((await Promise.all(waiting)).every((error) => error instanceof Busy))
  release.resolve(undefined)
  await holding
  await write()
})
