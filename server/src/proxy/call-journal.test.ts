import assert from 'node:assert/strict'
import { cpSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { startCalling } from '../../testkit/calling.ts'
import type { Calling } from '../../testkit/calling.ts'
import { sharedAuthority } from '../../testkit/certificates.ts'
import { fixedClock } from '../../testkit/clock.ts'
import { temporaryFolder } from '../../testkit/databases.ts'
import { proxyTo } from '../../testkit/proxy.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'
import { auditChainStore } from '../audit/audit-chain-store.ts'
import { createAuditKeyStore } from '../audit/audit-key-store.ts'
import { looseRecordStore } from '../audit/loose-record-store.ts'
import { verifyAudit } from '../audit/verify-audit.ts'
import { beforeCommit } from '../platform/database/database.ts'
import { mintToken } from '../platform/tokens.ts'
import { newMasterKey } from '../platform/vault/master-keys.ts'
import { createStores } from '../stores.ts'

interface Journaling extends Calling {
  /** So many calls that are in the journal and in no table. */
  callInto: (count: number) => Promise<void>
  /** How many calls were made so far. */
  made: () => number
  settings: Record<string, string>
}

async function startJournaling(t: TestContext): Promise<Journaling> {
  const settings = {
    SALLYPORT_ADMIN_TOKEN: mintToken('admin').reveal(),
    SALLYPORT_MASTER_KEY: newMasterKey().text.reveal(),
  }
  const calling = await startCalling(t, 'sqlite', { settings })
  const { service, upstream, grantId, agent } = calling
  const settled = async () => (await attempts(service)).length
  // The first call of an account also notes that it was used, and takes some calls in advance.
  assert.equal((await calling.proxy()).status, 200)
  const body = { grant_id: grantId, method: 'GET', url: upstream.url }
  const callInto: Journaling['callInto'] = async (count) => {
    await service.app.settle()
    const before = await settled()
    for (let call = 0; call < count; call++) {
      const { status } = await service.call('POST', '/v4/proxy', { token: agent.token, body })
      assert.equal(status, 200)
    }
    // On a busy machine it may have taken so long that they are in the tables by now.
    if ((await settled()) > before) await callInto(count)
  }
  return { ...calling, settings, callInto, made: () => upstream.received.length }
}

/** As the tables have it, without what is on its way there. */
const attempts = ({ database }: Pick<TestService, 'database'>) => recorded({ database }, 'proxy.attempt')

/** What a crash at this moment leaves, in a service that is started on it. */
async function afterCrash(
  t: TestContext,
  { service, settings }: Journaling,
  change: (folder: string) => void = () => undefined,
): Promise<TestService> {
  const folder = temporaryFolder(t)
  cpSync(service.config.dataDir, folder, { recursive: true, filter: (name) => !/-(?:shm|lock)$/.test(name) })
  change(folder)
  return startService(t, 'sqlite', { ...settings, SALLYPORT_DATA_DIR: folder }, fixedClock())
}

const journalIn = (folder: string) => join(folder, 'sallyport.db-calls')

async function callsOf({ database }: TestService, grantId: string): Promise<number | undefined> {
  const query = database.queries.selectFrom('grant_usage').select('calls').where('grant_id', '=', grantId)
  return (await query.executeTakeFirst())?.calls
}

async function assertIntact({ database, vault }: TestService): Promise<void> {
  const key = await createAuditKeyStore(vault).find(database.queries)
  assert.ok(key)
  const onProgress = () => undefined
  const needs = { database, chains: auditChainStore, looseRecords: looseRecordStore, key, onProgress }
  assert.deepEqual((await verifyAudit(needs)).findings, [])
}

test('a call that only the journal knows survives a crash: on record, counted, and both once', async (t) => {
  const before = await startJournaling(t)
  await before.callInto(3)
  const after = await afterCrash(t, before)
  assert.equal((await attempts(after)).length, before.made())
  assert.equal(await callsOf(after, before.grantId), before.made())
  await assertIntact(after)
  const again = await afterCrash(t, { ...before, service: after })
  assert.equal((await attempts(again)).length, before.made())
  assert.equal(await callsOf(again, before.grantId), before.made())
})

test('a crash after the tables have it, and before the journal has let it go, leaves nothing twice', async (t) => {
  const before = await startJournaling(t)
  await before.callInto(3)
  const journal = readFileSync(journalIn(before.service.config.dataDir))
  await before.service.app.settle()
  const after = await afterCrash(t, before, (folder) => {
    writeFileSync(journalIn(folder), journal)
  })
  assert.equal((await attempts(after)).length, before.made())
  assert.equal(await callsOf(after, before.grantId), before.made())
  await assertIntact(after)
})

test('an older database that is put back gets what the journal has', async (t) => {
  const before = await startJournaling(t)
  const folder = temporaryFolder(t)
  const { dataDir } = before.service.config
  await before.service.app.settle()
  const older = before.made()
  cpSync(dataDir, folder, { recursive: true, filter: (name) => !/-(?:shm|lock|calls)$/.test(name) })
  await before.callInto(1)
  await before.service.app.settle()
  await before.callInto(2)
  cpSync(journalIn(dataDir), journalIn(folder))
  const after = await startService(t, 'sqlite', { ...before.settings, SALLYPORT_DATA_DIR: folder }, fixedClock())
  assert.equal((await attempts(after)).length, older + 2, 'what only the newer one had is lost')
  await assertIntact(after)
})

test('what somebody changed in the journal is left out, and the log says so', async (t) => {
  const before = await startJournaling(t)
  await before.callInto(3)
  const after = await afterCrash(t, before, (folder) => {
    const bytes = readFileSync(journalIn(folder))
    bytes.write('PUT', bytes.indexOf('GET'))
    writeFileSync(journalIn(folder), bytes)
  })
  assert.equal((await attempts(after)).length, before.made() - 1)
  assert.ok(after.log.some((line) => line.includes('the journal held what is not ours')))
  await assertIntact(after)
})

test('whoever asks finds the calls that were made before, and how often the grant was used', async (t) => {
  const calling = await startJournaling(t)
  const { service, grantId, agent, made } = calling
  const { token } = agent
  await calling.callInto(2)
  const audit = await service.call('GET', `/v4/audit?grant_id=${grantId}`, { token })
  assert.equal(audit.body.records.length, made(), audit.text)
  await calling.callInto(1)
  const { body } = await service.call('GET', '/v4/grants', { token })
  assert.equal(body.grants[0].calls, made())
})

test('what else goes on record comes after the calls that were made before', async (t) => {
  const calling = await startJournaling(t)
  const { service, grantId, agent } = calling
  await calling.callInto(2)
  await service.registerAgent('another')
  await calling.callInto(1)
  const { status } = await service.call('POST', `/v4/grants/${grantId}/revoke`, { token: agent.token })
  assert.ok(status < 300, String(status))
  const events = (await recorded(service)).map(({ event }) => event)
  assert.deepEqual(events.filter((event) => event !== 'proxy.outcome').slice(-5), [
    'proxy.attempt',
    'proxy.attempt',
    'agent.registered',
    'proxy.attempt',
    'grant.revoked',
  ])
  await assertIntact(service)
})

test('a commit that is undone leaves the journal as it was, and the next one has it all', async (t) => {
  const calling = await startJournaling(t)
  const { service } = calling
  const { database } = service
  await calling.callInto(3)
  // As by a full disk, when all of it is in the transaction.
  const { noteAtOnce, transaction } = database
  database.noteAtOnce = () => undefined
  database.transaction = (work) =>
    transaction(async (tx) => {
      const done = await work(tx)
      const run = () => Promise.reject(new Error('no'))
      beforeCommit(tx, { run, ended: () => undefined })
      return done
    })
  await assert.rejects(service.app.settle(), /no/)
  Object.assign(database, { noteAtOnce, transaction })
  assert.equal((await attempts(service)).length, calling.made() - 3)
  // Nothing goes there before that is settled; and with the next call it is.
  assert.equal((await calling.proxy()).status, 200)
  assert.equal((await recorded(service, 'proxy.attempt')).length, calling.made())
  assert.equal(await callsOf(service, calling.grantId), calling.made())
  await assertIntact(service)
})

test('a commit of which nobody knows whether it happened is not made again if it has', async (t) => {
  const calling = await startJournaling(t)
  const { service } = calling
  const { database } = service
  await calling.callInto(3)
  const { noteAtOnce } = database
  database.noteAtOnce = async (notes) => {
    await noteAtOnce(notes)
    throw new Error('lost')
  }
  await assert.rejects(service.app.settle(), /lost/)
  database.noteAtOnce = noteAtOnce
  await service.app.settle()
  assert.equal((await attempts(service)).length, calling.made())
  assert.equal(await callsOf(service, calling.grantId), calling.made())
  await assertIntact(service)
})

test('where the tables can not be written to, no call is made on the strength of the journal alone', async (t) => {
  const calling = await startJournaling(t)
  const { service, upstream } = calling
  await calling.callInto(2)
  const file = join(service.config.dataDir, 'sallyport.db')
  renameSync(file, `${file}.aside`)
  await assert.rejects(service.app.settle())
  const reached = upstream.received.length
  assert.equal((await calling.proxy()).status, 503)
  assert.equal(upstream.received.length, reached)
  renameSync(`${file}.aside`, file)
  assert.equal((await calling.proxy()).status, 200)
  assert.equal((await recorded(service, 'proxy.attempt')).length, calling.made())
  await assertIntact(service)
})

test('a grant that another process revokes while its call goes on record: nothing leaves, and the record says so', async (t) => {
  const service = await startService(t, 'sqlite')
  const { database, vault, clock, config } = service
  const stores = createStores({ database, vault, clock: clock.now })
  // The service has it; without its journal this is one more instance.
  const { audit } = stores
  const written: unknown[] = []
  let onWritten = () => undefined
  const proxy = await proxyTo(
    service,
    {},
    {
      audit: {
        ...audit,
        keepsJournal: () => true,
        journal: (records) => {
          written.push(...records)
          onWritten()
          return true
        },
      },
    },
  )
  await proxy.call()
  const sent = proxy.received.length
  onWritten = () => {
    onWritten = () => undefined
    const other = new DatabaseSync(join(config.dataDir, 'sallyport.db'))
    other.prepare('update grants set revoked_at = 1 where grant_id = ?').run(proxy.grantId)
    other.prepare('update grant_usage set is_open = 0 where grant_id = ?').run(proxy.grantId)
    other.close()
    return undefined
  }
  await assert.rejects(proxy.call(), { code: 'grant_revoked' })
  assert.equal(proxy.received.length, sent)
  await proxy.ledger.flush()
  const [attempt, outcome] = written.slice(-2) as { event: string; auditId: string; outcome?: string; detail: object }[]
  assert.deepEqual(
    [attempt?.event, outcome?.event, outcome?.outcome, outcome?.detail],
    ['proxy.attempt', 'proxy.outcome', 'failed', { code: 'grant_revoked', ms: 0 }],
  )
  assert.equal(outcome?.auditId, attempt?.auditId)
})

test('one of two instances has the journal; what the other is called for is on record as well', async (t) => {
  const calling = await startJournaling(t)
  const { service, settings, agent, grantId, upstream } = calling
  const there = await startService(
    t,
    'sqlite',
    {
      ...settings,
      SALLYPORT_DATA_DIR: service.config.dataDir,
      SALLYPORT_EGRESS_ALLOW: upstream.host,
      SALLYPORT_EGRESS_CA_FILE: (await sharedAuthority()).caFile,
    },
    service.clock,
  )
  await calling.callInto(2)
  const known = (await attempts(there)).length
  const body = { grant_id: grantId, method: 'GET', url: upstream.url }
  for (let call = 0; call < 3; call++) {
    assert.equal((await there.call('POST', '/v4/proxy', { token: agent.token, body })).status, 200)
    assert.ok((await attempts(there)).length > known + call)
  }
  assert.equal((await recorded(service, 'proxy.attempt')).length, calling.made())
  assert.equal(await callsOf(service, grantId), calling.made())
  await assertIntact(service)
})
