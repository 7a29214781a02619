/** Failures between a record and its commit must leave the chain intact. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { sql } from 'kysely'
import { fixedClock } from '../../testkit/clock.ts'
import { onBothDatabases, temporaryPostgres } from '../../testkit/databases.ts'
import { migratedDatabase } from '../../testkit/open-database.ts'
import { beforeCommit } from '../platform/database/database.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { migrate } from '../migrations/migrations.ts'
import { openPostgres } from '../platform/database/postgres.ts'
import { Secret } from '../platform/secret.ts'
import { newMasterKey } from '../platform/vault/master-keys.ts'
import { openVault } from '../platform/vault/vault.ts'
import { auditChainStore } from './audit-chain-store.ts'
import { createAuditKeyStore } from './audit-key-store.ts'
import { createStores } from '../stores.ts'
import { verifyAudit } from './verify-audit.ts'

const masterKey = newMasterKey()
const at = new Date('2026-11-15T12:00:00.000Z')
const event = 'keys.rotated'

/** One process on the database. */
async function recordOn(database: Database) {
  const clock = fixedClock().now
  const vault = await openVault({ database, readMasterKeys: () => [masterKey], clock })
  const { audit } = createStores({ database, vault, clock })
  return { database, vault, ...audit }
}

/** Verifies all chains. Returns their lengths. */
async function wholeChains({ database, vault }: Awaited<ReturnType<typeof recordOn>>): Promise<number[]> {
  const key = await createAuditKeyStore(vault).find(database.queries)
  assert.ok(key)
  const verdict = await verifyAudit({
    database,
    chains: auditChainStore,
    key,
    onProgress: () => undefined,
  })
  assert.deepEqual(verdict.findings, [])
  return (await auditChainStore.listHeads(database.queries)).map(({ position }) => position)
}

onBothDatabases('the chain', (engine) => {
  test('of a process is single, however many transactions write concurrently', async (t) => {
    const instance = await recordOn((await migratedDatabase(t, engine))())
    const many = Array.from({ length: 40 }, (_, index) =>
      instance.database.transaction(async (tx) => {
        for (let count = 0; count <= index % 3; count++) await instance.append(tx, { event, at })
        await sql`select 1`.execute(tx)
      }),
    )
    await Promise.all([...many, instance.append(instance.database.queries, { event, at })])
    assert.deepEqual(await wholeChains(instance), [1 + 14 + 13 * 2 + 13 * 3 + 1])
  })

  test('has no gap where a transaction was rolled back', async (t) => {
    const instance = await recordOn((await migratedDatabase(t, engine))())
    const { database } = instance
    const undone = (spoil: (tx: Queries) => Promise<unknown>) =>
      database.transaction(async (tx) => {
        await instance.append(tx, { event, at })
        await spoil(tx)
      })
    const throwing = () => Promise.reject(new RangeError('undone'))
    await assert.rejects(undone(throwing), /undone/)
    await instance.append(database.queries, { event, at })
    await assert.rejects(undone(throwing), /undone/)
    // Something else that is to be done last fails after the records were linked.
    const after = { run: throwing, ended: () => undefined }
    await assert.rejects(
      undone((tx) => Promise.resolve(beforeCommit(tx, after))),
      /undone/,
    )
    // The insert itself fails, as the last step: neither engine keeps these.
    const grantId = engine === 'sqlite' ? ({ not: 'text' } as unknown as string) : '\0'
    await assert.rejects(instance.append(database.queries, { event, at, grantId }))
    await instance.append(database.queries, { event, at })
    assert.deepEqual(await wholeChains(instance), [3])
  })

  test('is separate for each process on one database', async (t) => {
    const open = await migratedDatabase(t, engine)
    const processes = await Promise.all([recordOn(open()), recordOn(open()), recordOn(open())])
    const work = processes.flatMap((one) =>
      Array.from({ length: 10 }, () => one.append(one.database.queries, { event, at })),
    )
    await Promise.all(work)
    const [first] = processes
    assert.ok(first)
    assert.deepEqual(await wholeChains(first), [11, 11, 11])
  })

  test('accepts no record once its transaction has ended', async (t) => {
    const instance = await recordOn((await migratedDatabase(t, engine))())
    let late: Queries | undefined
    await instance.database.transaction((tx) => Promise.resolve((late = tx)))
    await assert.rejects(instance.append(late ?? assert.fail(), { event, at }), /after the end of its transaction/)
  })

  test('signs its head only after new records', async (t) => {
    const instance = await recordOn((await migratedDatabase(t, engine))())
    assert.deepEqual(await instance.signHeads(), [])
    await instance.append(instance.database.queries, { event, at })
    assert.equal((await instance.signHeads())[0]?.position, 2)
    assert.deepEqual(await instance.signHeads(), [])
    await instance.append(instance.database.queries, { event, at })
    assert.equal((await instance.signHeads())[0]?.position, 3)
  })
})

/** A relay that drops the response to the next commit, after the commit has happened. */
async function lossyWay(t: TestContext, url: string) {
  const { hostname, port } = new URL(url)
  let isLosing = false
  const relay = createServer((client) => {
    const server = connect(Number(port), hostname)
    let isLost = false
    client.on('data', (data) => {
      isLost ||= isLosing && data.toString('latin1').toLowerCase().includes('commit')
      server.write(data)
    })
    server.on('data', (data) => {
      if (!isLost) client.write(data)
      else client.destroy()
    })
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('close', () => other.destroy())
      one.on('error', () => other.destroy())
    }
  })
  await once(relay.listen(0, '127.0.0.1'), 'listening')
  t.after(() => relay.close())
  const way = new URL(url)
  way.hostname = '127.0.0.1'
  way.port = String((relay.address() as AddressInfo).port)
  return { url: way.href, lose: (losing: boolean) => (isLosing = losing) }
}

test('a commit with unknown result ends the chain, and a new one starts', async (t) => {
  const direct = await temporaryPostgres(t)
  const { url, lose } = await lossyWay(t, direct)
  const database = openPostgres(new Secret(url), { isInsecure: true })
  t.after(() => database.close())
  await migrate(database, fixedClock().now)
  const instance = await recordOn(database)
  await instance.append(database.queries, { event, at })
  lose(true)
  await assert.rejects(instance.append(database.queries, { event, at, grantId: 'lost' }))
  lose(false)
  await instance.append(database.queries, { event, at })
  await instance.append(database.queries, { event, at })
  assert.deepEqual((await wholeChains(instance)).toSorted(), [3, 3], 'the one that was lost to us is there')
})
