import assert from 'node:assert/strict'
import { test } from 'node:test'
import { soon, startCalling } from '../../testkit/calling.ts'
import type { Calling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { insertGrant } from '../../testkit/grants.ts'

async function calledBy(calling: Calling): Promise<() => Promise<number>> {
  const { service, upstream, userId, connectionId } = calling
  const { agentId, token } = await service.registerAgent()
  const { grantId } = await insertGrant(service, { agentId, userId, connectionId, allowedHosts: [upstream.host] })
  const body = { grant_id: grantId, method: 'GET', url: upstream.url }
  return async () => (await service.call('POST', '/v4/proxy', { token, body })).status
}

onBothDatabases('the load limits of an agent', (engine) => {
  test('are calls per second with a burst, then 429, without affecting others', async (t) => {
    const calling = await startCalling(t, engine, {
      settings: { SALLYPORT_PROXY_RATE_PER_AGENT: '2', SALLYPORT_PROXY_BURST_PER_AGENT: '3' },
    })
    for (let call = 0; call < 3; call++) assert.equal((await calling.proxy()).status, 200)
    const { status, body, headers } = await calling.proxy()
    assert.deepEqual([status, body.error.code, body.error.retryable], [429, 'rate_limited', true])
    assert.match(String(headers['retry-after']), /^[1-9]\d*$/)
    assert.equal(calling.upstream.received.length, 3)
    assert.equal(await (await calledBy(calling))(), 200)
    calling.service.clock.advance(1)
    assert.deepEqual([(await calling.proxy()).status, (await calling.proxy()).status], [200, 200])
    assert.equal((await calling.proxy()).status, 429)
    const { queries } = calling.service.database
    const { calls } = await queries
      .selectFrom('grant_usage')
      .select('calls')
      .where('grant_id', '=', calling.grantId)
      .executeTakeFirstOrThrow()
    assert.equal(calls, 5, 'what was refused is not counted')
  })

  test('are calls in flight, then 429, without affecting others', async (t) => {
    const turn = Promise.withResolvers<undefined>()
    const arrivals = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
    const calling: Calling = await startCalling(t, engine, {
      settings: { SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT: '2' },
      answer: (response) => {
        arrivals[calling.upstream.received.length - 1]?.resolve(undefined)
        void turn.promise.then(() => response.end())
      },
    })
    const underWay = [calling.proxy(), calling.proxy()]
    await soon(Promise.all(arrivals.map(({ promise }) => promise)))
    const { status, body, headers } = await calling.proxy()
    assert.deepEqual([status, body.error.code, headers['retry-after']], [429, 'rate_limited', '1'])
    const other = (await calledBy(calling))()
    turn.resolve(undefined)
    assert.equal(await other, 200)
    assert.deepEqual(
      (await Promise.all(underWay)).map((reply) => reply.status),
      [200, 200],
    )
    assert.equal((await calling.proxy()).status, 200)
  })

  test('are released however a call ends: completed, failed, refused or never admitted', async (t) => {
    const calling: Calling = await startCalling(t, engine, {
      settings: { SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT: '1' },
      terms: { maxCalls: 4, allowedMethods: ['GET'] },
      answer: (response, { path }) => (path === '/cut' ? response.destroy() : response.end('ok')),
    })
    const { host } = calling.upstream
    const calls: [object, number][] = [
      [{}, 200],
      [{ url: `https://${host}/cut` }, 502],
      [{ method: 'POST' }, 403],
      [{ url: 'nonsense' }, 400],
      [{ grant_id: 'grt_00000000000000000000000000' }, 404],
      [{ timeout_ms: 1000 }, 200],
      [{}, 200],
      [{}, 403],
      [{}, 403],
    ]
    for (const [members, status] of calls) {
      assert.equal((await calling.proxy(members)).status, status, JSON.stringify(members))
    }
  })

  test('are turned off with 0', async (t) => {
    const calling = await startCalling(t, engine, {
      settings: { SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT: '0', SALLYPORT_PROXY_RATE_PER_AGENT: '0' },
    })
    const replies = await Promise.all(Array.from({ length: 60 }, () => calling.proxy()))
    assert.ok(replies.every(({ status }) => status === 200))
    const records = await calling.records()
    assert.equal(records.length, 120)
  })
})
