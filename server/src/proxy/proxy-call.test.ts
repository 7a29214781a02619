import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { proxyTo, textResponse, upstreamToken } from '../../testkit/proxy.ts'
import { startService } from '../../testkit/service.ts'
import type { AuditRecord } from '../audit/audit-record.ts'
import { createStores } from '../stores.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import { grantStore } from '../grants/grant-store.ts'
import { ServiceError } from '../platform/errors.ts'

function refusedWith(code: string) {
  return (error: unknown) => error instanceof ServiceError && error.code === code
}

onBothDatabases('a proxied call', (engine) => {
  test('has the credential, which the caller can neither set nor see', async (t) => {
    const service = await startService(t, engine)
    const { call, received } = await proxyTo(service, {
      upstream: ({ headers }) => Promise.resolve(textResponse(JSON.stringify(headers))),
    })
    const answer = await call({
      method: 'post',
      headers: { Authorization: 'Bearer mine', 'X-Mine': 'yes' },
      body: { a: 1 },
    })
    assert.deepEqual(received[0]?.headers, [
      ['x-mine', 'yes'],
      ['content-type', 'application/json'],
      ['authorization', `Bearer ${upstreamToken}`],
    ])
    assert.deepEqual([received[0].method, received[0].body?.toString()], ['POST', '{"a":1}'])
    assert.match(String(answer.body), /Bearer \[REDACTED\]/)
    assert.deepEqual([answer.redactions, answer.droppedHeaders], [1, ['authorization']])
    assert.ok(!JSON.stringify(answer).includes(upstreamToken))
  })

  test('is recorded before it is sent, and its outcome follows with the same audit_id', async (t) => {
    const service = await startService(t, engine)
    const seen: string[] = []
    const { call, agentId, grantId, outcomes } = await proxyTo(service, {
      upstream: async () => {
        seen.push(...(await recorded(service, 'proxy.')).map(({ event }) => event))
        service.clock.advance(0.25)
        return textResponse('hello')
      },
    })
    const { auditId } = await call({ url: 'http://localhost:8787/v4/sandbox/echo?b=2&a=1' })
    assert.deepEqual(seen, ['proxy.attempt'])
    const common = { audit_id: auditId, request_id: 'req_test', agent_id: agentId, user_id: null, grant_id: grantId }
    const at = new Date('2026-11-15T12:00:00.000Z').getTime()
    assert.deepEqual(await recorded(service, 'proxy.'), [
      {
        ...common,
        event: 'proxy.attempt',
        at,
        detail: { method: 'GET', host: 'localhost:8787', path: '/v4/sandbox/echo', query: ['b', 'a'] },
      },
      {
        ...common,
        event: 'proxy.outcome',
        at: at + 250,
        detail: { outcome: 'answered', status: 200, bytes: 5, ms: 250, redactions: 0 },
      },
    ])
    assert.deepEqual(outcomes, ['answered'])
  })

  test('that fails at the upstream is recorded as failed, at any step', async (t) => {
    const service = await startService(t, engine)
    const broken = (async function* () {
      await Promise.resolve()
      yield Buffer.from('half of it')
      throw new Error('reset')
    })()
    const failures: [Parameters<typeof proxyTo>[1], string][] = [
      [{ upstream: () => Promise.reject(new Error('refused')) }, 'internal'],
      [{ upstream: () => Promise.reject(new ServiceError('not_ready')) }, 'not_ready'],
      [{ upstream: () => Promise.resolve({ status: 200, headers: [], body: broken }) }, 'internal'],
      [{ credential: () => Promise.reject(new ServiceError('grant_revoked')) }, 'grant_revoked'],
    ]
    for (const [route, code] of failures) {
      const { call, grantId, outcomes } = await proxyTo(service, route)
      await assert.rejects(call())
      const records = (await recorded(service, 'proxy.')).filter((one) => one.grant_id === grantId)
      assert.deepEqual(
        records.map(({ event, audit_id }) => [event, audit_id]),
        ['proxy.attempt', 'proxy.outcome'].map((event) => [event, records[0]?.audit_id]),
      )
      assert.deepEqual(records[1]?.detail, { outcome: 'failed', code, ms: 0 })
      assert.deepEqual(outcomes, ['failed'])
    }
  })

  test('is not made without a credential', async (t) => {
    const service = await startService(t, engine)
    const credential = () => Promise.reject(new ServiceError('grant_revoked'))
    const { call, received } = await proxyTo(service, { credential })
    await assert.rejects(call(), refusedWith('grant_revoked'))
    assert.deepEqual(received, [])
  })

  test('is not made if it cannot be recorded', async (t) => {
    const service = await startService(t, engine)
    const { call, received, grantId } = await proxyTo(service)
    await sql`alter table audit_records rename to gone`.execute(service.database.queries)
    await assert.rejects(call())
    assert.deepEqual(received, [])
    const { calls } = await service.database.queries
      .selectFrom('grant_usage')
      .select('calls')
      .where('grant_id', '=', grantId)
      .executeTakeFirstOrThrow()
    assert.equal(calls, 0, 'nor is it counted')
    await sql`alter table gone rename to audit_records`.execute(service.database.queries)
    await call()
    assert.equal(received.length, 1)
  })

  test('is not made if the database is down', async (t) => {
    const service = await startService(t, engine)
    const { call, received } = await proxyTo(service)
    await service.database.close()
    await assert.rejects(call())
    assert.deepEqual(received, [])
  })

  test('gets its response even if the outcome cannot be recorded, and that is logged', async (t) => {
    const service = await startService(t, engine)
    const { audit: real } = createStores({ ...service, clock: service.clock.now })
    const assertFits = (records: readonly AuditRecord[]) => {
      if (records.some(({ event }) => event === 'proxy.outcome')) throw new Error('disk full')
    }
    const audit: AuditLog = {
      ...real,
      appendAll: (tx, records) => {
        assertFits(records)
        real.appendAll(tx, records)
      },
      appendInOneStep: async (records, insert) => {
        assertFits(records)
        return real.appendInOneStep(records, insert)
      },
    }
    const { call } = await proxyTo(service, {}, { audit })
    const { auditId, body } = await call()
    assert.equal(body, 'ok')
    assert.deepEqual(
      (await recorded(service, 'proxy.')).map(({ event }) => event),
      ['proxy.attempt'],
    )
    assert.match(service.log.at(-1) ?? '', new RegExp(`${auditId}.*the outcome of a call could not be recorded`))
  })

  test('is refused without a request if the grant or agent ended since the check', async (t) => {
    const service = await startService(t, engine)
    const { queries } = service.database
    const now = service.clock.now()
    const endings: [string, (agentId: string, grantId: string) => Promise<unknown>][] = [
      ['grant_revoked', (agentId) => grantStore.revokeOtherSandboxes(queries, agentId, 'grt_other', now)],
      [
        'grant_expired',
        (_, grantId) =>
          queries.updateTable('grants').set({ expires_at: now.getTime() }).where('grant_id', '=', grantId).execute(),
      ],
      [
        'unauthenticated',
        (agentId) => service.call('POST', `/v4/agents/${agentId}/disable`, { token: service.adminToken }),
      ],
      [
        'grant_not_found',
        async (_, grantId) => {
          await queries.deleteFrom('sandboxes').where('grant_id', '=', grantId).execute()
          await queries.deleteFrom('grants').where('grant_id', '=', grantId).execute()
        },
      ],
    ]
    for (const [code, end] of endings) {
      // It ends between the judgement and the attempt, as another instance might do it.
      const database = {
        ...service.database,
        transaction: async <T>(work: Parameters<typeof service.database.transaction<T>>[0]) => {
          await end(agentId, grantId)
          return service.database.transaction(work)
        },
      }
      const { call, received, agentId, grantId } = await proxyTo(service, {}, { database })
      await assert.rejects(call(), refusedWith(code), code)
      assert.deepEqual(received, [])
      const events = (await recorded(service, 'proxy.')).filter((one) => one.agent_id === agentId)
      assert.deepEqual(
        events.map(({ event, detail }) => [event, detail.code]),
        [['proxy.refused', code]],
      )
    }
  })

  test('reaches the upstream once per response when many are concurrent', async (t) => {
    const service = await startService(t, engine)
    const { call, received } = await proxyTo(service)
    const answers = await Promise.all(Array.from({ length: 10 }, () => call()))
    assert.equal(received.length, 10)
    assert.equal(new Set(answers.map(({ auditId }) => auditId)).size, 10)
    assert.equal((await recorded(service, 'proxy.')).length, 20)
  })
})
