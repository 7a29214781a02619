import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { startCalling } from '../../testkit/calling.ts'
import { sharedAuthority } from '../../testkit/certificates.ts'
import { fixedClock } from '../../testkit/clock.ts'
import { temporaryFolder } from '../../testkit/databases.ts'
import { afterCrash, assertIntact, attempts, callsOf, journalIn, startJournaling } from '../../testkit/journaling.ts'
import { proxyTo } from '../../testkit/proxy.ts'
import { startService } from '../../testkit/service.ts'
import type { AuditRecord } from '../audit/audit-record.ts'
import { beforeCommit } from '../platform/database/database.ts'
import { createStores } from '../stores.ts'

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

test('a call of whose account nobody has heard for long goes into the journal as well, and it is marked to the minute', async (t) => {
  const calling = await startJournaling(t)
  const { clock, database, app } = calling.service
  const lastUse = async () => {
    await app.settle()
    const { last_used_at: at } = await database.queries.selectFrom('connections').selectAll().executeTakeFirstOrThrow()
    return at
  }
  const marked = await lastUse()
  clock.advance(59)
  await calling.callInto(1)
  assert.equal(await lastUse(), marked)
  let isInTables = true
  // On a busy machine it may have taken so long that it is there by now.
  for (let tries = 0; isInTables && tries < 10; tries++) {
    clock.advance(61)
    const before = (await attempts(calling.service)).length
    assert.equal((await calling.proxy()).status, 200)
    isInTables = (await attempts(calling.service)).length > before
    assert.equal(await lastUse(), clock.now().getTime())
  }
  assert.equal(isInTables, false)
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
  const written: AuditRecord[] = []
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
  const last = written.findLast(({ event }) => event === 'proxy.attempt')
  assert.deepEqual(
    written
      .filter(({ auditId }) => auditId === last?.auditId)
      .map(({ outcome, detail }) => [outcome, detail?.['code']]),
    [
      [undefined, undefined],
      ['failed', 'grant_revoked'],
    ],
  )
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

test('a process that was killed while it put the journal into the tables leaves nothing twice, whatever is put back', async (t) => {
  const before = await startJournaling(t)
  await before.callInto(2)
  const earlier = readFileSync(journalIn(before.service.config.dataDir))
  const second = await afterCrash(t, before)
  await second.app.settle()
  // Somebody puts back the journal of a process before the last, with a page of it behind its end.
  const third = await afterCrash(t, { ...before, service: second }, (folder) => {
    writeFileSync(journalIn(folder), Buffer.concat([earlier, earlier.subarray(0, 4096)]))
  })
  assert.equal((await attempts(third)).length, before.made())
  assert.equal(await callsOf(third, before.grantId), before.made())
  await assertIntact(third)
})

test('nothing in the tables has a call left out that only the journal knows', async (t) => {
  const calling = await startJournaling(t)
  const { service } = calling
  await calling.callInto(2)
  // No short way: as when another process is writing.
  const { noteAtOnce } = service.database
  service.database.noteAtOnce = () => undefined
  await service.app.settle()
  service.database.noteAtOnce = noteAtOnce
  assert.equal((await attempts(service)).length, calling.made())
  await assertIntact(service)
})

test('one error while it is asked what others have changed does not hide what they have', async (t) => {
  const calling = await startJournaling(t)
  const { service, upstream, grantId } = calling
  await calling.callInto(1)
  const reached = upstream.received.length
  const other = new DatabaseSync(join(service.config.dataDir, 'sallyport.db'))
  other.prepare('update grants set revoked_at = 1 where grant_id = ?').run(grantId)
  other.prepare('update grant_usage set is_open = 0 where grant_id = ?').run(grantId)
  other.close()
  let failures = 1
  const usual = Reflect.get(StatementSync.prototype, 'get') as (this: StatementSync, ...values: unknown[]) => unknown
  t.mock.method(StatementSync.prototype, 'get', function (this: StatementSync, ...values: unknown[]) {
    if (this.sourceSQL === 'pragma data_version' && failures-- > 0) {
      throw Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 10 })
    }
    return usual.apply(this, values)
  })
  const statuses = []
  for (let call = 0; call < 3; call++) statuses.push((await calling.proxy()).status)
  assert.equal(failures < 1, true)
  assert.ok(!statuses.includes(200), String(statuses))
  assert.equal(upstream.received.length, reached)
})

test('a journal that was removed under the service is made anew', async (t) => {
  const calling = await startJournaling(t)
  const { dataDir } = calling.service.config
  await calling.callInto(1)
  rmSync(journalIn(dataDir))
  await calling.service.app.settle()
  await calling.callInto(2)
  const after = await afterCrash(t, calling)
  assert.equal((await attempts(after)).length, calling.made())
})

test('a call whose redirect is refused because its grant has ended has one outcome', async (t) => {
  const calling = await startCalling(t, 'sqlite', {
    answer: (response, { path }) => {
      if (path === '/things') {
        const other = new DatabaseSync(join(calling.service.config.dataDir, 'sallyport.db'))
        other.prepare('update grants set revoked_at = 1').run()
        other.prepare('update grant_usage set is_open = 0').run()
        other.close()
        response.writeHead(302, { location: '/other' }).end()
      } else response.end('{}')
    },
  })
  const { status } = await calling.proxy({ follow_redirects: true })
  assert.equal(status, 403)
  assert.equal(calling.upstream.received.length, 1)
  const events = (await recorded(calling.service, 'proxy.')).map(({ event }) => event)
  assert.equal(events.filter((event) => event === 'proxy.outcome').length, 1, String(events))
})

const inItsPlace: Record<string, (file: string) => void> = {
  'a folder': (file) => {
    mkdirSync(file)
  },
  'a pipe': (file) => {
    execFileSync('mkfifo', [file])
  },
  'a folder for its lock': (file) => {
    mkdirSync(`${file}-lock`)
  },
  'nonsense for its lock': (file) => {
    writeFileSync(`${file}-lock`, 'x'.repeat(5000))
  },
  'nonsense, and a folder for its copy': (file) => {
    writeFileSync(file, 'x'.repeat(5000))
    mkdirSync(`${file}-unread`)
  },
}

for (const [what, put] of Object.entries(inItsPlace)) {
  test(`with ${what} in the place of the journal the service starts, and calls are on record`, async (t) => {
    const before = await startJournaling(t)
    await before.service.app.settle()
    const after = await afterCrash(t, before, (folder) => {
      rmSync(journalIn(folder), { force: true })
      put(journalIn(folder))
    })
    assert.ok(after.log.some((line) => line.includes('the journal can not be used')))
    const { token } = await after.registerAgent()
    const { grant_id, example } = (await after.call('POST', '/v4/sandbox/start', { token })).body
    assert.ok(grant_id)
    for (let call = 0; call < 2; call++) {
      assert.equal((await after.call('POST', '/v4/proxy', { token, body: example.body })).status, 200)
    }
    assert.equal((await recorded(after, 'proxy.attempt')).length, before.made() + 2)
  })
}
