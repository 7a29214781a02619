/** Two real servers behind one URL: one of them is stopped, read-only or silent, and they change places. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { TestContext } from 'node:test'
import { sql } from 'kysely'
import { fixedClock } from '../../../testkit/clock.ts'
import { migratedPostgres, onServer, withDatabase } from '../../../testkit/databases.ts'
import { startPostgres } from '../../../testkit/postgres-server.ts'
import type { PostgresServer } from '../../../testkit/postgres-server.ts'
import { startSilentRelay } from '../../../testkit/silent-relay.ts'
import { migrate } from '../../migrations/migrations.ts'
import { Secret } from '../secret.ts'
import type { Database } from './database.ts'
import { isUnavailable } from './failures.ts'
import { prepared } from './prepared.ts'
import { openPostgres } from './postgres.ts'

let first: PostgresServer

before(async () => {
  first = await startPostgres()
  const database = openPostgres(new Secret(first.url), { isInsecure: false })
  await migrate(database, fixedClock().now)
  await database.close()
})

after(() => first.stop())

/** The first server, and a database of the tests' own server, behind one URL. */
async function twoHosts(t: TestContext) {
  const other = new URL(await migratedPostgres(t))
  const here = new URL(first.url)
  const on = (statement: string) => onServer(withDatabase(other.href, 'postgres'), statement)
  const name = other.pathname.slice(1)
  // One URL has one name for both: the first server gets a database that is called like the other's.
  await onServer(first.url, `create database ${name} template postgres`)
  const url = `postgres://postgres@127.0.0.1:${here.port},127.0.0.1:${other.port}/${name}?target_session_attrs=read-write`
  const makeReadOnly = (isReadOnly: boolean) =>
    on(`alter database ${name} set default_transaction_read_only = ${isReadOnly ? 'on' : 'off'}`)
  const endSessions = () => on(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`)
  return {
    endSessions,
    name,
    here: `127.0.0.1:${here.port}`,
    other: `127.0.0.1:${other.port}`,
    otherPort: Number(other.port),
    url,
    makeReadOnly,
  }
}

function open(t: TestContext, url: string, limits = {}) {
  const chosen: string[] = []
  const database = openPostgres(new Secret(url), {
    isInsecure: false,
    limits,
    onChosen: (name, passedOver) => {
      chosen.push([name, ...passedOver.map((one) => `not ${one.name}`)].join(', '))
    },
  })
  t.after(() => database.close())
  return { database, chosen }
}

const readShort = prepared((queries, { key }: { key: string }) =>
  queries.selectFrom('rate_limits').select('key').where('key', '=', key),
)

/** All ways to the database: by pool, by both pipelines, and the probe. */
async function useAll(database: Database): Promise<number[]> {
  const port = sql<{ port: number }>`select inet_server_port() as port`
  const pooled = await database.transaction(async (tx) => {
    await tx.insertInto('rate_limits').values({ key: crypto.randomUUID(), full_at: 0 }).execute()
    return port.execute(tx)
  })
  await readShort(database.queries, { key: 'any' })
  const single = await untilConnected(() => database.runSingleStatement(port.compile(database.queries)))
  await database.probe()
  return [...pooled.rows, ...(single as { port: number }[])].map((row) => row.port)
}

async function untilConnected(run: () => Promise<object[]> | undefined): Promise<object[]> {
  for (;;) {
    const running = run()
    if (running) return running
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Each failure has to be one that callers are told to try again after. */
async function untilItWorks(database: Database): Promise<number[]> {
  for (let failures = 0; ; failures++) {
    try {
      return await useAll(database)
    } catch (error) {
      assert.ok(isUnavailable(error), String(error))
      assert.ok(failures < 20, `it never works again: ${String(error)}`)
    }
  }
}

test('the first host that takes writes is used, and the next one when it stops', async (t) => {
  const { url, here, other, otherPort, makeReadOnly, endSessions } = await twoHosts(t)
  const { database, chosen } = open(t, url)
  const own = Number(here.split(':')[1])
  assert.deepEqual(await useAll(database), [own, own])
  await first.halt()
  t.after(() => first.resume())
  assert.deepEqual(await untilItWorks(database), [otherPort, otherPort])
  assert.deepEqual(chosen, [here, `${other}, not ${here}`])

  // While neither can be used, each is named with its reason.
  await makeReadOnly(true)
  await endSessions()
  await assert.rejects(untilNoneIsLeft(database), (error: Error) => {
    assert.match(error.message, new RegExp(`${here}: connect ECONNREFUSED .*; ${other}: read-only`))
    return isUnavailable(error)
  })

  await first.resume()
  assert.deepEqual(await untilItWorks(database), [own, own])
  assert.deepEqual(chosen.at(-1), here)
  assert.deepEqual(await database.hosts?.(), [{ name: here }, { name: other, problem: 'read-only' }])
})

/** Broken connections fail first, with their own errors. */
async function untilNoneIsLeft(database: Database): Promise<never> {
  for (;;) {
    try {
      await database.probe()
    } catch (error) {
      if (error instanceof Error && error.name === 'NoWritableHost') throw error
      assert.ok(isUnavailable(error), String(error))
    }
  }
}

test('a server that becomes read-only while it is used is left, also for reads', async (t) => {
  const { url, name, here, otherPort } = await twoHosts(t)
  const { database } = open(t, url)
  const own = Number(here.split(':')[1])
  assert.deepEqual(await useAll(database), [own, own])
  // A primary that was demoted ends no connections. New sessions and open ones are read-only.
  await onServer(first.url, `alter database ${name} set default_transaction_read_only = on`)
  await database.queries.connection().execute((one) => sql`set default_transaction_read_only = on`.execute(one))
  assert.deepEqual(await untilItWorks(database), [otherPort, otherPort])
  const version = await database.runSingleStatement(sql`select inet_server_port() as port`.compile(database.queries))
  assert.deepEqual(version, [{ port: otherPort }])
})

test('a silent host delays the choice by one time limit, and is named', async (t) => {
  const { url, here, otherPort } = await twoHosts(t)
  const relay = await startSilentRelay(t, Number(here.split(':')[1]))
  relay.silenceFromNowOn()
  const through = url.replace(here, `127.0.0.1:${relay.port}`)
  const { database, chosen } = open(t, through, { probe: 300 })
  assert.deepEqual(await useAll(database), [otherPort, otherPort])
  assert.match(chosen.join(), new RegExp(`not 127.0.0.1:${relay.port}`))
})

test('a refusal that waiting does not end names the host, and is not waited for', async (t) => {
  const { url, name, here, other, makeReadOnly } = await twoHosts(t)
  await makeReadOnly(true)
  await onServer(first.url, `drop database ${name}`)
  const { database } = open(t, url)
  await assert.rejects(database.probe(), (error: NodeJS.ErrnoException) => {
    assert.equal(error.code, '3D000')
    assert.equal(error.message, `${here}: database "${name}" does not exist; ${other}: read-only`)
    return !isUnavailable(error)
  })
})
