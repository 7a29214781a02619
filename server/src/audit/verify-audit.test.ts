/** An attacker who can write to the database and knows the chain format, but does not have the master key. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { sql } from 'kysely'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import type { Engine } from '../platform/database/database.ts'
import { auditChainStore } from './audit-chain-store.ts'
import type { LinkedRow } from './audit-chain-store.ts'
import { emptyChain, linked, macOf } from './audit-hash.ts'
import { createAuditKeyStore } from './audit-key-store.ts'
import type { AuditKey } from './audit-key-store.ts'
import { createStores } from '../stores.ts'
import { signHead } from './chain-heads.ts'
import type { SignedHead } from './chain-heads.ts'
import { verifyAudit } from './verify-audit.ts'

async function startRecording(t: TestContext, engine: Engine) {
  const service = await startService(t, engine)
  const { database, clock, vault } = service
  const { queries } = database
  const needs = { database, vault, clock: clock.now }
  let audit = createStores(needs).audit
  const verify = async (...kept: SignedHead[]) => {
    const key = await createAuditKeyStore(vault).find(queries)
    assert.ok(key)
    const onProgress = () => undefined
    return verifyAudit({ database, chains: auditChainStore, key, onProgress, pageSize: 4 }, kept)
  }
  return {
    ...service,
    queries,
    verify,
    audit: () => audit,
    /** This many records, in commits of one, two and three. */
    record: async (count: number) => {
      for (let made = 0; made < count;) {
        await database.transaction(async (tx) => {
          for (let size = (made % 3) + 1; size > 0 && made < count; size--, made++) {
            await audit.append(tx, { event: 'keys.rotated', at: clock.now(), detail: { resealed: made } })
          }
        })
      }
    },
    /** Another process, or this one after a kill. */
    restart: () => (audit = createStores(needs).audit),
    put: (rows: LinkedRow[]) => database.transaction((tx) => auditChainStore.insert(tx, rows)),
    rowsOf: (chain: string) => auditChainStore.listAfter(queries, chain, 0, 1000),
    chainNames: async () => (await auditChainStore.listHeads(queries)).map(({ chain }) => chain),
    /** The description of the first problem found. */
    found: async (...kept: SignedHead[]) => {
      const { findings } = await verify(...kept)
      return findings.map(({ chain, position, auditId, words }) => ({ chain, position, auditId, words }))
    },
  }
}

type Recording = Awaited<ReturnType<typeof startRecording>>

async function onlyChain({ chainNames }: Recording): Promise<string> {
  const [chain, ...others] = await chainNames()
  assert.ok(chain)
  assert.deepEqual(others, [])
  return chain
}

/** The attacker rebuilds all hashes like the service, with the service's key if available. */
async function relink({ queries, rowsOf }: Recording, chain: string, key?: AuditKey): Promise<void> {
  let head = emptyChain(chain)
  for (const row of await rowsOf(chain)) {
    head = linked(head, row)
    const mac = key && row.mac ? macOf(key.macKey, head) : row.mac
    const where = sql`where chain = ${chain} and position = ${row.position}`
    await sql`update audit_records set hash = ${head.hash}, mac = ${mac} ${where}`.execute(queries)
  }
}

onBothDatabases('verify', (engine) => {
  test('finds no problem in an untouched log, with several chains and heads', async (t) => {
    const recording = await startRecording(t, engine)
    for (const count of [11, 1, 8]) {
      await recording.record(count)
      await recording.audit().signHeads()
      await recording.record(2)
      recording.clock.advance(60)
      recording.restart()
    }
    const { findings, records, chains, unchained, removed } = await recording.verify()
    assert.deepEqual(findings, [])
    assert.deepEqual([records, chains, unchained, removed], [11 + 1 + 8 + 6 + 3, 3, 0, 0])
  })

  test('names the record in which anything was changed', async (t) => {
    const recording = await startRecording(t, engine)
    await recording.record(9)
    const chain = await onlyChain(recording)
    const rows = await recording.rowsOf(chain)
    const texts = ['audit_id', 'event', 'request_id', 'agent_id', 'user_id', 'grant_id', 'connection_id', 'provider']
    const changes = [...texts, 'outcome', 'detail'].map((column) => sql`${sql.ref(column)} = 'other'`)
    for (const [index, change] of [...changes, sql`at = at + 1`].entries()) {
      const row = rows[index % rows.length]
      assert.ok(row)
      const { position } = row
      const where = sql`where chain = ${chain} and position = ${position}`
      await sql`update audit_records set ${change} ${where}`.execute(recording.queries)
      const [finding] = await recording.found()
      assert.equal(finding?.position, position)
      assert.match(finding.words, /changed/)
      await sql`delete from audit_records ${where}`.execute(recording.queries)
      await recording.put([row])
      assert.deepEqual(await recording.found(), [], 'as it was')
    }
  })

  test('names the position of a removed record', async (t) => {
    const recording = await startRecording(t, engine)
    await recording.record(9)
    await recording.audit().signHeads()
    const chain = await onlyChain(recording)
    for (const row of await recording.rowsOf(chain)) {
      const where = sql`where chain = ${chain} and position = ${row.position}`
      await sql`delete from audit_records ${where}`.execute(recording.queries)
      const [finding] = await recording.found()
      assert.equal(finding?.position, row.position)
      assert.match(finding.words, /removed/)
      await recording.put([row])
    }
    assert.deepEqual(await recording.found(), [])
  })

  test('finds two swapped records, in one chain and between two', async (t) => {
    const recording = await startRecording(t, engine)
    await recording.record(6)
    recording.clock.advance(1)
    recording.restart()
    await recording.record(6)
    const [one = '', other = ''] = await recording.chainNames()
    const swap = async (a: LinkedRow, b: LinkedRow) => {
      for (const { chain, position } of [a, b])
        await sql`delete from audit_records where chain = ${chain} and position = ${position}`.execute(
          recording.queries,
        )
      const exchanged = [
        { ...b, chain: a.chain, position: a.position },
        { ...a, chain: b.chain, position: b.position },
      ]
      await recording.put(exchanged)
    }
    const at = async (chain: string, position: number) => {
      const row = (await recording.rowsOf(chain))[position - 1]
      assert.ok(row)
      return row
    }
    await swap(await at(one, 3), await at(one, 5))
    assert.deepEqual(
      (await recording.found()).map(({ chain, position }) => [chain, position]),
      [[one, 3]],
    )
    await swap(await at(one, 3), await at(one, 5))
    assert.deepEqual(await recording.found(), [], 'and back again')
    await swap(await at(one, 4), await at(other, 4))
    assert.deepEqual(
      (await recording.found()).map(({ chain, position }) => [chain, position]),
      [
        [one, 4],
        [other, 4],
      ],
    )
  })

  test('finds records that were rewritten with all their hashes, signed or not', async (t) => {
    const recording = await startRecording(t, engine)
    await recording.record(7)
    const chain = await onlyChain(recording)
    await sql`update audit_records set detail = '{}' where position = 3`.execute(recording.queries)
    await relink(recording, chain)
    const [unsigned] = await recording.found()
    assert.match(unsigned?.words ?? '', /not written by this service/)
    await sql`update audit_records set mac = null`.execute(recording.queries)
    assert.match((await recording.found())[0]?.words ?? '', /same commit were removed/)
  })

  test('finds by an earlier signed head that everything was rewritten, even with the master key', async (t) => {
    const recording = await startRecording(t, engine)
    await recording.record(7)
    await recording.audit().signHeads()
    await recording.record(2)
    const chain = await onlyChain(recording)
    const key = await createAuditKeyStore(recording.vault).find(recording.queries)
    await sql`update audit_records set detail = '{}' where position = 3`.execute(recording.queries)
    await relink(recording, chain, key)
    const [finding] = await recording.found()
    assert.equal(finding?.position, 8)
    assert.match(finding.words, /was rewritten: it is not the record that the head signed at/)
  })

  test('finds records added to a chain, and a forged chain', async (t) => {
    const recording = await startRecording(t, engine)
    await recording.record(4)
    const chain = await onlyChain(recording)
    const last = (await recording.rowsOf(chain)).at(-1)
    assert.ok(last)
    const added = { ...last, ...linked(last, last) }
    await recording.put([added])
    assert.deepEqual(
      (await recording.found()).map(({ position }) => position),
      [added.position],
    )
    await sql`delete from audit_records where position = ${added.position}`.execute(recording.queries)
    assert.deepEqual(await recording.found(), [])

    const { privateKey } = generateKeyPairSync('ed25519')
    const forged = { ...last, ...linked(emptyChain(`chn_${'0'.repeat(26)}`), last), mac: null }
    await recording.put([forged])
    assert.match((await recording.found())[0]?.words ?? '', /signed with it is missing/)
    const signed = signHead('head', forged, recording.clock.now(), privateKey)
    await auditChainStore.insertHead(recording.queries, signed)
    assert.match((await recording.found())[0]?.words ?? '', /not signed by this service/)
  })

  test('finds a truncated chain by its signed head or the next chain', async (t) => {
    const recording = await startRecording(t, engine)
    await recording.record(5)
    const chain = await onlyChain(recording)
    await recording.audit().signHeads()
    const cut = async (after: number) => {
      await sql`delete from audit_records where chain = ${chain} and position > ${after}`.execute(recording.queries)
      await sql`delete from audit_heads where chain = ${chain} and position > ${after}`.execute(recording.queries)
    }
    recording.clock.advance(1)
    recording.restart()
    await recording.record(1)
    await cut(4)
    const [finding] = await recording.found()
    assert.deepEqual([finding?.chain, finding?.position], [chain, 5])
    assert.match(finding?.words ?? '', /2 or more records .* removed: a later chain/)
    await cut(0)
    assert.match((await recording.found())[0]?.words ?? '', /6 or more records .* removed/)
  })

  test('finds a database restored to an older state only by a head kept elsewhere', async (t) => {
    const recording = await startRecording(t, engine)
    await recording.record(3)
    const [before] = await recording.audit().signHeads()
    await recording.record(3)
    const [kept] = await recording.audit().signHeads()
    assert.ok(before && kept)
    assert.deepEqual(await recording.found(before, kept), [])
    await sql`delete from audit_records where position > ${before.position}`.execute(recording.queries)
    await sql`delete from audit_heads where position > ${before.position}`.execute(recording.queries)
    assert.deepEqual(await recording.found(before), [])
    const [finding] = await recording.found(kept)
    assert.equal(finding?.position, before.position + 1)
    assert.match(finding.words, /the given head/)
    const { privateKey } = generateKeyPairSync('ed25519')
    const foreign = signHead('head', before, new Date(before.at), privateKey)
    assert.match((await recording.found(foreign))[0]?.words ?? '', /not signed by this service/)
  })

  test("does not accept a forged key as the service's", async (t) => {
    const recording = await startRecording(t, engine)
    await recording.record(2)
    const { publicKey } = generateKeyPairSync('ed25519')
    const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    await sql`update audit_keys set public_key = ${pem}`.execute(recording.queries)
    await assert.rejects(recording.verify())
  })

  test('counts records from before chains existed, and finds one added to them later', async (t) => {
    const recording = await startRecording(t, engine)
    const add = () =>
      sql`insert into audit_records (audit_id, event, at, detail) values ('aud_old', 'keys.rotated', 0, '{}')`.execute(
        recording.queries,
      )
    await add()
    await add()
    await recording.record(3)
    const { findings, unchained } = await recording.verify()
    assert.deepEqual([findings, unchained], [[], 2])
    await sql`update audit_records set chain = null, position = null, hash = null, mac = null
      where position = 4`.execute(recording.queries)
    assert.match((await recording.found()).map(({ words }) => words).join(), /removed: |1 records are on no chain/)
    assert.equal((await recording.found()).at(-1)?.chain, 'none')
  })
})
