import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { sql } from 'kysely'
import { seedRecords } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import { countTurns } from '../../testkit/turns.ts'
import type { Engine } from '../platform/database/database.ts'
import { createLog } from '../platform/operations/log.ts'
import { auditChainStore } from './audit-chain-store.ts'
import { emptyChain, linked } from './audit-hash.ts'
import { createAuditKeyStore } from './audit-key-store.ts'
import { createStores } from '../stores.ts'
import { dropOldRecords } from './retention.ts'
import { verifyAudit } from './verify-audit.ts'

const day = 86_400

async function startKeeping(t: TestContext, engine: Engine, days: string | undefined) {
  const service = await startService(t, engine, days === undefined ? {} : { SALLYPORT_AUDIT_RETENTION_DAYS: days })
  const { database, clock, vault } = service
  const { queries } = database
  let audit = createStores({ ...service, clock: clock.now }).audit
  const record = async (count: number) => {
    for (let made = 0; made < count; made++) await audit.append(queries, { event: 'keys.rotated', at: clock.now() })
  }
  const verify = async () => {
    const key = await createAuditKeyStore(vault).find(queries)
    assert.ok(key)
    return verifyAudit({
      database,
      chains: auditChainStore,
      key,
      onProgress: () => undefined,
    })
  }
  const restart = () => (audit = createStores({ ...service, clock: clock.now }).audit)
  const rows = async () => (await queries.selectFrom('audit_records').select('position').execute()).length
  return { ...service, queries, record, verify, rows, restart, signHead: () => audit.signHeads() }
}

onBothDatabases('retention', (engine) => {
  test('deletes nothing unless configured', async (t) => {
    const { app, clock, record, rows } = await startKeeping(t, engine, undefined)
    await record(3)
    clock.advance(10_000 * day)
    await app.sweep()
    assert.equal(await rows(), 4)
  })

  test('deletes the beginnings of chains, or whole chains, and the rest still verifies', async (t) => {
    const { app, clock, record, rows, verify, restart, signHead } = await startKeeping(t, engine, '30')
    await record(4)
    await signHead()
    clock.advance(10)
    restart()
    await record(5)
    await signHead()
    clock.advance(30 * day)
    await record(2)
    await app.sweep()
    assert.equal(await rows(), 8, 'the chain that is 30 days and 10 seconds old is gone')
    assert.deepEqual((await verify()).findings, [])
    clock.advance(0.001)
    await app.sweep()
    assert.equal(await rows(), 2)
    const { findings, removed, records } = await verify()
    assert.deepEqual([findings, removed, records], [[], 5 + 6, 2])
    await record(2)
    restart()
    await record(1)
    await app.sweep()
    assert.deepEqual((await verify()).findings, [])
    clock.advance(31 * day)
    await app.sweep()
    assert.deepEqual([await rows(), (await verify()).findings], [0, []])
    await record(1)
    assert.deepEqual((await verify()).findings, [], 'and the chain goes on')
  })

  test('verify finds records deleted beyond a stub, and a moved or removed stub', async (t) => {
    const { app, clock, queries, record, verify } = await startKeeping(t, engine, '30')
    await record(4)
    clock.advance(30 * day + 1)
    await record(4)
    await app.sweep()
    assert.deepEqual((await verify()).findings, [])
    await sql`delete from audit_records where position = 6`.execute(queries)
    assert.match((await verify()).findings[0]?.words ?? '', /removed/)
    await sql`update audit_stubs set position = 6`.execute(queries)
    assert.match((await verify()).findings[0]?.words ?? '', /not signed by this service/)
    await sql`delete from audit_stubs`.execute(queries)
    assert.equal((await verify()).findings[0]?.position, 1)
  })

  test('does not delete records with forged dates, and logs that', async (t) => {
    const { app, clock, log, queries, record, rows, verify } = await startKeeping(t, engine, '30')
    await record(4)
    clock.advance(day)
    await sql`update audit_records set at = 0`.execute(queries)
    await app.sweep()
    assert.equal(await rows(), 5)
    assert.match(log.join(), /retention stops at this record.*audit verify/)
    assert.equal((await verify()).findings[0]?.position, 1)
    // Nor where all hashes fit again: only the service can close a commit.
    const { chain = '' } = (await auditChainStore.listHeads(queries))[0] ?? {}
    let head = emptyChain(chain)
    for (const row of await auditChainStore.listAfter(queries, chain, 0, 10)) {
      head = linked(head, row)
      await sql`update audit_records set hash = ${head.hash}, mac = null where position = ${row.position}`.execute(
        queries,
      )
    }
    await app.sweep()
    assert.equal(await rows(), 5)
  })

  test('verify finds records added to a deleted chain or outside any chain', async (t) => {
    const { app, clock, queries, record, verify } = await startKeeping(t, engine, '30')
    await record(4)
    clock.advance(30 * day + 1)
    await record(2)
    await app.sweep()
    const { chain = '' } = (await auditChainStore.listHeads(queries))[0] ?? {}
    const forge = async (where: { chain: string | null; position: number | null }) => {
      const forged = {
        ...where,
        audit_id: 'aud_forged',
        event: 'proxy.attempt',
        at: clock.now().getTime(),
        detail: '{}',
      }
      await queries.insertInto('audit_records').values(forged).execute()
      const { findings } = await verify()
      await queries.deleteFrom('audit_records').where('audit_id', '=', 'aud_forged').execute()
      return findings.map(({ auditId, words }) => auditId ?? words)
    }
    for (const position of [null, -1, 0, 1, 5]) assert.deepEqual(await forge({ chain, position }), ['aud_forged'])
    for (const position of [null, -1, 0]) {
      assert.deepEqual(await forge({ chain: 'chn_unknown', position }), ['aud_forged'])
    }
    assert.match((await forge({ chain: null, position: null })).join(), /^1 records are on no chain/)
    assert.deepEqual((await verify()).findings, [])
  })

  test('deletes unchained records in batches, before the chains that count them', async (t) => {
    const { app, clock, queries, record, rows, verify } = await startKeeping(t, engine, '30')
    const old = { event: 'keys.rotated', at: clock.now().getTime(), detail: '{}' }
    for (let made = 0; made < 2_500; made += 500) {
      const some = Array.from({ length: 500 }, (_, at) => ({ ...old, audit_id: `aud_${made + at}` }))
      await queries.insertInto('audit_records').values(some).execute()
    }
    await record(1)
    clock.advance(31 * day)
    assert.equal(await auditChainStore.dropUnchainedBefore(queries, clock.now()), 100)
    assert.equal(await rows(), 2_402)
    await app.sweep()
    assert.deepEqual([await rows(), (await verify()).findings], [0, []])
  })

  test('continues until nothing is due, and logs what it removed', async (t) => {
    const { app, clock, database, log, rows, call, adminToken } = await startKeeping(t, engine, '30')
    await seedRecords(database, 50_500, { at: clock.now() })
    clock.advance(31 * day)
    const turns = countTurns()
    await app.sweep()
    assert.ok(turns.end() >= 100)
    assert.equal(await rows(), 0)
    assert.match(log.join(), /"removed":50500,"left":0,"ms":\d+,"msg":"retention removed old records"/)
    const metrics = (await call('GET', '/metrics', { token: adminToken })).text
    assert.match(metrics, /^sallyport_audit_retention_removed_total 50500$/m)
    assert.match(metrics, /^sallyport_audit_retention_backlog 0$/m)
  })

  test('ends early when the service stops, and reports how much is left', async (t) => {
    const { app, clock, database, log, rows } = await startKeeping(t, engine, '30')
    await seedRecords(database, 15_000, { at: clock.now() })
    clock.advance(31 * day)
    const sweeping = app.sweep()
    await app.http.close()
    await sweeping
    assert.ok((await rows()) > 0)
    assert.match(log.join(), /"left":[1-9]\d*,.*more are due/)
  })

  test('removes a commit that is longer than a batch', async (t) => {
    const { app, clock, database, rows, verify, restart } = await startKeeping(t, engine, '30')
    const audit = restart()
    await database.transaction(async (tx) => {
      for (let made = 0; made < 1_200; made++) await audit.append(tx, { event: 'keys.rotated', at: clock.now() })
    })
    clock.advance(31 * day)
    await app.sweep()
    assert.deepEqual([await rows(), (await verify()).findings], [0, []])
  })

  test('reports what is left when its time is up, signs what it removed, and continues later', async (t) => {
    const kept = await startKeeping(t, engine, '30')
    const { app, clock, config, database, log, queries, rows, verify, vault } = kept
    const audit = kept.restart()
    for (let commit = 0; commit < 4; commit++) {
      await database.transaction(async (tx) => {
        for (let made = 0; made < 300; made++) await audit.append(tx, { event: 'keys.rotated', at: clock.now() })
      })
    }
    clock.advance(31 * day)
    await audit.append(queries, { event: 'keys.rotated', at: clock.now() })
    const needs = {
      ...{ config, database, auditChains: auditChainStore, clock: clock.now },
      ...{ auditKeys: createAuditKeyStore(vault), log: createLog(config, { write: (line) => log.push(line) }) },
    }
    const before = new Date(clock.now().getTime() - day)
    const all = await rows()
    const { removed, left } = await dropOldRecords(needs, { chn: before, chs: before }, { mostMs: 0 })
    assert.ok(removed > 0 && removed <= 500, `removed ${removed}`)
    assert.deepEqual([await rows(), left], [all - removed, all - removed - 1])
    assert.match(log.join(), new RegExp(`"removed":${removed},"left":${left},.*more are due`))
    assert.deepEqual((await verify()).findings, [])
    await app.sweep()
    assert.deepEqual([await rows(), (await verify()).findings], [1, []])
  })
})
