/** `Prefer: wait=N`: the answer is held back until the call has ended, the time is over, or nobody waits any more. */
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { soon } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startHeldCalls } from '../../testkit/held-calls.ts'
import type { HeldCallTest } from '../../testkit/held-calls.ts'

const wait = (seconds: number) => ({ prefer: `wait=${seconds}` })

async function firstWaiting(test: HeldCallTest): Promise<string> {
  for (;;) {
    const [call] = await test.waiting()
    if (call) return call.call_id as string
    await sleep(20)
  }
}

onBothDatabases('a client that waits', (engine) => {
  test('gets the response of its call, its denial, or after the time that it still waits', async (t) => {
    const test = await startHeldCalls(t, engine)
    const asked = test.ask({}, wait(30))
    const id = await firstWaiting(test)
    await test.approve(id)
    const { status, body, headers } = await soon(asked)
    assert.deepEqual([status, body.body, headers['preference-applied']], [200, { ok: true }, 'wait=30'])
    assert.deepEqual((await test.read(id)).body.response, body)

    const refused = test.ask({ body: { n: 2 } }, wait(30))
    await test.deny(await firstWaiting(test), { reason: 'No.' })
    const denial = await soon(refused)
    assert.deepEqual([denial.status, denial.body.error.code], [403, 'call_denied'])
    assert.match(denial.body.error.message, /“No\.”/)

    const short = await test.ask({ body: { n: 3 } }, wait(1))
    assert.deepEqual([short.status, short.headers['preference-applied']], [202, 'wait=1'])
    await test.cancel(short.body.call_id)
    const cancelled = test.ask({ body: { n: 4 } }, wait(30))
    await test.cancel(await firstWaiting(test))
    assert.equal((await soon(cancelled)).body.error.code, 'call_cancelled')
  })

  test('may wait for the status of a call too, also for what another instance does', async (t) => {
    const test = await startHeldCalls(t, engine)
    const id = await test.held()
    const reading = test.read(id, wait(30))
    await test.service.database.queries.updateTable('held_calls').set({ status: 'denied', decided_at: 1 }).execute()
    assert.equal((await soon(reading)).body.status, 'denied')
    assert.equal((await test.read(id, wait(30))).body.status, 'denied', 'an ended call is answered at once')
    const ignored = await test.ask({ body: { n: 2 } }, { prefer: 'respond-async, wait=soon' })
    assert.deepEqual([ignored.status, ignored.headers['preference-applied']], [202, undefined])
  })

  test('takes no place in flight, and loses nothing when it goes away', async (t) => {
    const test = await startHeldCalls(t, engine, { settings: { SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT: '2' } })
    const { app } = test.service
    const { port } = await (async () => {
      await app.http.listen({ host: '127.0.0.1', port: 0 })
      return app.http.server.address() as AddressInfo
    })()
    const start = (n: number) => {
      const request = httpRequest({
        ...{ host: '127.0.0.1', port, path: '/v4/proxy', method: 'POST', agent: false },
        headers: {
          host: test.service.config.baseUrl.host,
          authorization: `Bearer ${test.agent.token}`,
          'content-type': 'application/json',
          prefer: 'wait=300',
        },
      })
      request.on('error', () => undefined)
      return request.end(
        JSON.stringify({ grant_id: test.grantId, method: 'POST', url: test.upstream.url, body: { n } }),
      )
    }
    const clients: ReturnType<typeof start>[] = []
    for (let n = 0; n < 5; n++) {
      clients.push(start(n))
      while ((await test.waiting()).length <= n) await sleep(20)
      await sleep(50)
    }
    const read = () => test.ask({ method: 'GET', body: undefined })
    while ((await read()).status !== 200) await sleep(20)
    const closed = clients.map((client) => new Promise((resolve) => client.once('close', resolve)))
    for (const client of clients) client.destroy()
    await Promise.all(closed)
    for (const { call_id } of await test.waiting()) {
      assert.equal((await test.approve(call_id)).status, 200)
      assert.equal((await test.ended(call_id)).status, 'done')
    }
    assert.equal(test.upstream.received.filter(({ method }) => method === 'POST').length, 5)
  })

  test('is answered when the service stops, and its call still waits', async (t) => {
    const test = await startHeldCalls(t, engine)
    const { app, database } = test.service
    const asked = test.ask({}, wait(300))
    const id = await firstWaiting(test)
    const reading = test.read(id, wait(300))
    await sleep(50)
    await soon(app.http.close())
    assert.equal((await soon(asked)).status, 202)
    assert.equal((await soon(reading)).body.status, 'waiting')
    const row = await database.queries.selectFrom('held_calls').select('status').executeTakeFirstOrThrow()
    assert.equal(row.status, 'waiting')
  })

  test('is not answered if its token is replaced meanwhile', async (t) => {
    const test = await startHeldCalls(t, engine)
    const asked = test.ask({}, wait(30))
    await firstWaiting(test)
    await test.service.call('POST', '/v4/agents/rotate-token', { token: test.agent.token })
    assert.equal((await soon(asked)).status, 401)
  })
})
