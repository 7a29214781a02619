import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { recorded } from '../../testkit/audit.ts'
import { soon, startCalling } from '../../testkit/calling.ts'
import type { Answer, Calling, Streamed } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'

/** Starts a response and leaves it open; reports when the service closes it. */
function openEnded(begin: (response: ServerResponse) => void = (response) => response.write('data: one\n\n')) {
  const closed = Promise.withResolvers<undefined>()
  const answer: Answer = (response) => {
    response.on('close', () => {
      closed.resolve(undefined)
    })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    begin(response)
  }
  return { answer, closed: closed.promise }
}

/** The text received, and whether the response was complete. */
async function received({ answer }: Streamed): Promise<{ text: string; isWhole: boolean }> {
  const chunks: Buffer[] = []
  answer.on('data', (chunk: Buffer) => chunks.push(chunk))
  answer.on('error', () => undefined)
  if (!answer.closed) await soon(new Promise((resolve) => answer.on('close', resolve)))
  return { text: Buffer.concat(chunks).toString(), isWhole: answer.complete }
}

async function outcomeOf(calling: Calling): Promise<[string, string | undefined]> {
  const { detail } = (await calling.records()).find(({ event }) => event === 'proxy.outcome') ?? { detail: {} }
  return [detail.outcome, detail.code]
}

/** Everything on the way is full. */
async function atRest(unsent: () => number): Promise<void> {
  for (let same = 0, last = -1; same < 10; last = unsent()) {
    await sleep(25)
    same = unsent() === last ? same + 1 : 0
  }
  assert.ok(unsent() > 0)
}

const oneAtATime = { SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT: '1' }

onBothDatabases('a stream that ends early', (engine) => {
  test('because the upstream disconnects: the client is disconnected, and it is recorded as failed', async (t) => {
    const { answer } = openEnded((response) => {
      response.write('data: one\n\n', () => response.destroy())
    })
    const calling = await startCalling(t, engine, { answer, settings: oneAtATime })
    const { isWhole } = await received(await calling.stream())
    assert.equal(isWhole, false)
    assert.deepEqual(await outcomeOf(calling), ['failed', 'upstream_unreachable'])
    assert.notEqual((await calling.stream()).status, 429)
  })

  test("because the client disconnects: the upstream's socket closes, and the agent's slot is free", async (t) => {
    const { answer, closed } = openEnded()
    const calling = await startCalling(t, engine, { answer, settings: oneAtATime })
    const { request } = await calling.stream()
    assert.equal((await calling.stream()).status, 429)
    request.destroy()
    await soon(closed)
    assert.deepEqual(await outcomeOf(calling), ['failed', 'caller_gone'])
    assert.equal((await calling.stream()).status, 200)
    assert.ok(!calling.service.log.some((line) => line.includes('"level":"error"')), calling.service.log.join(''))
  })

  for (const stream of [true, false]) {
    test(`because the client disconnects before the response (${stream ? 'streamed' : 'buffered'})`, async (t) => {
      const arrived = Promise.withResolvers<undefined>()
      const closed = Promise.withResolvers<undefined>()
      const calling = await startCalling(t, engine, {
        settings: oneAtATime,
        answer: (response, { path }) => {
          if (path === '/next') return response.end('free again')
          arrived.resolve(undefined)
          return response.on('close', () => {
            closed.resolve(undefined)
          })
        },
      })
      const request = await calling.open({ stream })
      request.on('error', () => undefined)
      await soon(arrived.promise)
      request.destroy()
      await soon(closed.promise)
      assert.deepEqual(await outcomeOf(calling), ['failed', 'caller_gone'])
      assert.equal((await calling.proxy({ url: `https://${calling.upstream.host}/next` })).status, 200)
      assert.ok(!calling.service.log.some((line) => line.includes('"level":"error"')), calling.service.log.join(''))
    })
  }

  for (const isRead of [true, false]) {
    test(`because its grant was revoked, ${isRead ? 'immediately' : 'also if it is not read'}`, async (t) => {
      let unsent = () => 0
      const { answer, closed } = openEnded((response) => {
        response.write('data: one\n\n')
        if (!isRead) response.write('x'.repeat(20_000_000))
        unsent = () => response.socket?.writableLength ?? 0
      })
      const calling = await startCalling(t, engine, { answer, settings: oneAtATime })
      const streamed = await calling.stream()
      if (!isRead) await atRest(unsent)
      await calling.service.database.queries.updateTable('grants').set({ revoked_at: 1 }).execute()
      await calling.service.app.checkCallsInFlight()
      await soon(closed)
      assert.deepEqual(await outcomeOf(calling), ['failed', 'grant_revoked'])
      assert.equal((await received(streamed)).isWhole, false)
      assert.equal((await calling.stream()).status, 403, 'its place is free')
    })
  }

  test('because the upstream is idle too long', async (t) => {
    const { answer, closed } = openEnded()
    const calling = await startCalling(t, engine, { answer, settings: { SALLYPORT_PROXY_IDLE_SECONDS: '1' } })
    assert.deepEqual(await received(await calling.stream()), { text: 'data: one\n\n', isWhole: false })
    await soon(closed)
    assert.deepEqual(await outcomeOf(calling), ['failed', 'upstream_timeout'])
  })

  test('but not while the upstream sends, even if all of it is held back', async (t) => {
    const answer: Answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      let dots = 0
      const timer = setInterval(() => {
        response.write('.')
        if (++dots < 8) return
        clearInterval(timer)
        response.end()
      }, 250)
    }
    const calling = await startCalling(t, engine, { answer, settings: { SALLYPORT_PROXY_IDLE_SECONDS: '1' } })
    assert.deepEqual(await received(await calling.stream()), { text: '.'.repeat(8), isWhole: true })
  })

  test('because of its timeout, before the first byte or after', async (t) => {
    const { answer } = openEnded()
    const calling = await startCalling(t, engine, { answer })
    assert.equal((await received(await calling.stream({ timeout_ms: 300 }))).isWhole, false)
    assert.deepEqual(await outcomeOf(calling), ['failed', 'upstream_timeout'])
    const silent = await startCalling(t, engine, { answer: () => undefined })
    for (const stream of [true, false]) assert.equal((await silent.stream({ stream, timeout_ms: 300 })).status, 504)
  })
})

test('a call whose client disconnected while it was recorded is not sent (postgres)', async (t) => {
  const calling = await startCalling(t, 'postgres')
  const { database, app } = calling.service
  const turn = Promise.withResolvers<undefined>()
  const held = Promise.withResolvers<undefined>()
  const holding = database.transaction(async (tx) => {
    await sql`lock table grant_usage in exclusive mode`.execute(tx)
    held.resolve(undefined)
    await turn.promise
  })
  await held.promise
  const request = await calling.open()
  request.on('error', () => undefined)
  const [{ socket }] = (await soon(once(app.http.server, 'request'))) as [IncomingMessage]
  const waits = sql`select 1 from pg_locks where not granted and relation = 'grant_usage'::regclass`
  for (let tries = 0; (await waits.execute(database.queries)).rows.length === 0; tries++) {
    assert.ok(tries < 200, 'the call never came as far as that')
    await sleep(25)
  }
  request.destroy()
  await soon(once(socket, 'close'))
  turn.resolve(undefined)
  await holding
  for (let tries = 0; tries < 200 && (await recorded(calling.service, 'proxy.')).length === 0; tries++) await sleep(25)
  assert.deepEqual(await outcomeOf(calling), ['failed', 'caller_gone'])
  assert.deepEqual(calling.upstream.received, [])
})
