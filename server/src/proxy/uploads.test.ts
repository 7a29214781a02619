import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingMessage, RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { buffer, text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { streamedCallType } from '@sallyport/protocol/streamed-call'
import { accessToken, soon, startCalling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'

const bytes = { headers: { 'content-type': 'application/octet-stream' } }
const json = { headers: { 'content-type': 'application/json' } }

/** Says how many bytes arrived, and how they were announced. */
const measures: RequestListener = (request, response) => {
  void buffer(request).then(({ length }) => {
    const { 'content-length': announced = null, 'transfer-encoding': coding = null, authorization } = request.headers
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ length, announced, coding, authorization }))
  }, ignored)
}

const ignored = () => undefined

interface AnyAnswer {
  status: number
  body: { length: number; announced: string | null; coding: string | null; authorization: string }
  error: { code: string; field: string }
}

async function answerOf(request: ClientRequest) {
  const [answer] = (await soon(once(request, 'response'))) as [IncomingMessage]
  const body = JSON.parse(await text(answer)) as AnyAnswer
  return { status: answer.statusCode, headers: answer.headers, body }
}

const errorOf = async (request: ClientRequest) => {
  const { status, body } = await answerOf(request)
  return [status, body.error.code, body.error.field]
}

onBothDatabases('a streamed request body', (engine) => {
  test('reaches the upstream as it arrives, with its length if that is known', async (t) => {
    const arrived = Promise.withResolvers<undefined>()
    const { upload, records } = await startCalling(t, engine, {
      unread: (request, response) => {
        request.once('data', arrived.resolve)
        measures(request, response)
      },
    })
    const chunked = await upload(bytes)
    chunked.write(Buffer.alloc(70_000))
    await soon(arrived.promise)
    chunked.end(Buffer.alloc(30_000))
    const { body } = await answerOf(chunked)
    assert.deepEqual(body.body, {
      ...{ length: 100_000, announced: null, coding: 'chunked', authorization: 'Bearer [REDACTED]' },
    })
    const known = await upload({ ...bytes, content_length: 3 })
    known.end('abc')
    assert.deepEqual((await answerOf(known)).body.body, {
      ...{ length: 3, announced: '3', coding: null, authorization: 'Bearer [REDACTED]' },
    })
    assert.deepEqual(
      (await records()).map(({ event }) => event),
      ['proxy.attempt', 'proxy.outcome', 'proxy.attempt', 'proxy.outcome'],
    )
  })

  test('of a request with a Content-Length is what follows the line', async (t) => {
    const { service, upstream, grantId, agent } = await startCalling(t, engine, { unread: measures })
    for (const body of ['', 'x', 'two\nlines\n']) {
      const call = { grant_id: grantId, method: 'PUT', url: upstream.url, ...bytes }
      const line = `${JSON.stringify(call)}\n${body}`
      const answer = await service.call('POST', '/v4/proxy', {
        token: agent.token,
        headers: { 'content-type': streamedCallType },
        body: line,
      })
      assert.deepEqual([answer.body.body.length, answer.body.body.announced], [body.length, String(body.length)])
    }
  })

  test('that has to be inspected is refused beyond 1 MiB, before the upstream gets a byte', async (t) => {
    const { upload, upstream } = await startCalling(t, engine, { terms: { allowedMethods: ['POST'] } })
    const long = await upload(json)
    for (let sent = 0; sent < 20; sent++) long.write(Buffer.alloc(65_536, 32))
    assert.deepEqual(await errorOf(long), [413, 'body_not_inspectable', 'body'])
    const announced = await upload({ ...json, content_length: 2_000_000 })
    assert.deepEqual(await errorOf(announced), [413, 'body_not_inspectable', 'body'])
    const override = await upload({ headers: { 'content-type': 'application/x-www-form-urlencoded' } })
    override.end('a=1&_method=DELETE')
    assert.deepEqual(await errorOf(override), [403, 'method_not_allowed', 'method'])
    assert.equal(upstream.received.length, 0)
    const short = await upload(json)
    short.end('{"a":1}')
    assert.equal((await answerOf(short)).status, 200)
    assert.equal(upstream.received[0]?.body, '{"a":1}')
  })

  test('of a call that is refused by its head is not read', async (t) => {
    const { upload, upstream } = await startCalling(t, engine, { terms: { allowedMethods: ['GET'] } })
    const refusals: [object, Record<string, string>, [number, string, string]][] = [
      [bytes, {}, [403, 'method_not_allowed', 'method']],
      [{ url: 'https://elsewhere.example.com/' }, {}, [403, 'host_not_allowed', 'url']],
      [{ method: 'GET' }, {}, [400, 'invalid_field', 'body']],
      [{ body: 'a' }, {}, [400, 'invalid_field', 'body']],
      [{ body_base64: '' }, {}, [400, 'invalid_field', 'body_base64']],
      [{ dry_run: true }, {}, [400, 'invalid_field', 'dry_run']],
      [{ content_length: -1 }, {}, [400, 'invalid_field', 'content_length']],
      [bytes, { 'idempotency-key': 'one' }, [400, 'invalid_field', 'Idempotency-Key']],
    ]
    for (const [members, headers, expected] of refusals) {
      assert.deepEqual(await errorOf(await upload(members, headers)), expected, JSON.stringify(members))
    }
    assert.equal(upstream.received.length, 0)
  })

  test('without a line of JSON, or for another route, is refused', async (t) => {
    const { service, agent, upload, proxy } = await startCalling(t, engine)
    const { token } = agent
    const headers = { 'content-type': streamedCallType }
    const send = async (body: string, path = '/v4/proxy') => {
      const { status, body: answer } = await service.call('POST', path, { token, headers, body })
      return [status, answer.error.code]
    }
    assert.deepEqual(await send('{"grant_id":"a"}'), [400, 'invalid_json'])
    assert.deepEqual(await send(''), [400, 'invalid_json'])
    assert.deepEqual(await send('no JSON\nabc'), [400, 'invalid_json'])
    assert.deepEqual(await send(`${' '.repeat(70_000)}\n`), [400, 'invalid_json'])
    assert.deepEqual(await send('\nabc'), [400, 'missing_field'])
    assert.deepEqual(await send('{}\n', '/v4/access-requests'), [415, 'unsupported_media_type'])
    assert.deepEqual((await proxy({ method: 'POST', content_length: 1 })).body.error.field, 'content_length')
    const endless = await upload(bytes, { 'content-type': `${streamedCallType}; charset=utf-8` })
    endless.end('a')
    assert.equal((await answerOf(endless)).status, 200)
  })

  test('whose length is wrong never looks complete', async (t) => {
    let isComplete: boolean | undefined
    let ended = Promise.withResolvers<undefined>()
    let arrived = Promise.withResolvers<undefined>()
    const { upload } = await startCalling(t, engine, {
      unread: (request) => {
        request.once('data', arrived.resolve)
        request.on('error', ignored).on('close', () => {
          isComplete = request.complete
          ended.resolve(undefined)
        })
      },
    })
    for (const more of ['cd', '']) {
      const request = await upload({ ...bytes, content_length: 3 })
      request.write('ab')
      await soon(arrived.promise)
      request.end(more)
      assert.deepEqual(await errorOf(request), [400, 'invalid_field', 'content_length'])
      await soon(ended.promise)
      assert.equal(isComplete, false)
      ;[ended, arrived] = [Promise.withResolvers(), Promise.withResolvers()]
    }
  })

  test('that is cut off never looks complete to the upstream, and its outcome is recorded', async (t) => {
    const ended = Promise.withResolvers<boolean>()
    const { upload, records } = await startCalling(t, engine, {
      unread: (request) => {
        request.once('data', () => {
          sending.destroy()
        })
        request.on('error', ignored).on('close', () => {
          ended.resolve(request.complete)
        })
        request.resume()
      },
    })
    const sending = await upload(bytes)
    sending.write(Buffer.alloc(10_000))
    assert.equal(await soon(ended.promise), false)
    const outcome = (await records()).find(({ event }) => event === 'proxy.outcome')
    assert.deepEqual([outcome?.detail.outcome, outcome?.detail.code], ['failed', 'caller_gone'])
  })

  test('that stops arriving ends with 408, and an upstream that stops reading with 504', async (t) => {
    const settings = { SALLYPORT_PROXY_IDLE_SECONDS: '1' }
    const { upload } = await startCalling(t, engine, {
      settings,
      unread: (request) => void request.on('error', ignored),
    })
    const stalled = await upload(bytes)
    stalled.write('a')
    assert.deepEqual(await errorOf(stalled), [408, 'request_timeout', undefined])
    const silent = await upload(bytes)
    silent.write('')
    assert.deepEqual(await errorOf(silent), [408, 'request_timeout', undefined])
    const unread = await upload(bytes)
    const chunk = Buffer.alloc(1_048_576)
    const isUnread = { now: true }
    const flood = async () => {
      while (isUnread.now) {
        if (!unread.write(chunk)) await Promise.race([once(unread, 'drain'), once(unread, 'close')])
      }
    }
    void flood().catch(ignored)
    assert.deepEqual(await errorOf(unread), [504, 'upstream_timeout', undefined])
    isUnread.now = false
    unread.destroy()
  })

  test('that the upstream stops reading after it has begun to answer ends with 504', async (t) => {
    const settings = { SALLYPORT_PROXY_IDLE_SECONDS: '1' }
    const { upload } = await startCalling(t, engine, {
      settings,
      unread: (request, response) => {
        request.on('error', ignored)
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }).write('{')
      },
    })
    const request = await upload(bytes)
    // More than sockets and streams buffer.
    request.write(Buffer.alloc(32 * 1_048_576))
    assert.deepEqual(await errorOf(request), [504, 'upstream_timeout', undefined])
    request.destroy()
  })

  test('may take longer than any other request, and its time-out begins at its end', async (t) => {
    const settings = { SALLYPORT_REQUEST_TIMEOUT_SECONDS: '1', SALLYPORT_HEADERS_TIMEOUT_SECONDS: '1' }
    const { upload } = await startCalling(t, engine, { settings, unread: measures })
    const request = await upload({ ...bytes, timeout_ms: 1000 })
    for (let sent = 0; sent < 8; sent++) {
      request.write('a')
      await sleep(300)
    }
    request.end()
    assert.equal((await answerOf(request)).body.body.length, 8)
  })

  test('takes no longer than any other request unless it is passed on', async (t) => {
    const settings = { SALLYPORT_REQUEST_TIMEOUT_SECONDS: '1', SALLYPORT_HEADERS_TIMEOUT_SECONDS: '1' }
    const { upload, service, agent, upstream } = await startCalling(t, engine, { settings, unread: measures })
    const inspected = await upload({ headers: { 'content-type': 'application/x-www-form-urlencoded' } })
    const { port } = service.app.http.server.address() as AddressInfo
    const headers = { host: service.config.baseUrl.host, authorization: `Bearer ${agent.token}` }
    const line = httpRequest({
      ...{ host: '127.0.0.1', port, path: '/v4/proxy', method: 'POST', agent: false },
      headers: { ...headers, 'content-type': streamedCallType },
    }).on('error', ignored)
    // Both at once: the second response could come while only the first is awaited.
    const answers = [inspected, line].map((request) => {
      const drip = setInterval(() => request.write('{'), 100)
      t.after(() => {
        clearInterval(drip)
        request.destroy()
      })
      return errorOf(request)
    })
    const late = [408, 'request_timeout', undefined]
    assert.deepEqual(await Promise.all(answers), [late, late])
    assert.equal(upstream.received.length, 0)
  })

  test('ends with its grant', async (t) => {
    const ended = Promise.withResolvers<boolean>()
    const calling = await startCalling(t, engine, {
      unread: (request) => {
        request.on('error', ignored).on('close', () => {
          ended.resolve(request.complete)
        })
        request.resume()
        void revoke()
      },
    })
    const { service, upload } = calling
    const revoke = async () => {
      await service.database.queries.updateTable('grants').set({ revoked_at: 1 }).execute()
      await service.app.checkCallsInFlight()
    }
    const request = await upload(bytes)
    request.write('a')
    assert.deepEqual((await errorOf(request)).slice(0, 2), [403, 'grant_revoked'])
    assert.equal(await soon(ended.promise), false)
  })

  test('that the upstream answers early: the answer comes through, and the rest is dropped', async (t) => {
    for (const stream of [false, true]) {
      const { upload, agent, service } = await startCalling(t, engine, {
        settings: { SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT: '1' },
        unread: (request, response) => {
          request.on('error', ignored)
          response.writeHead(413, { 'content-type': 'application/json' }).end(`{"token":"${accessToken}"}`)
        },
      })
      const request = await upload({ ...bytes, stream })
      request.write(Buffer.alloc(100_000))
      const { status, headers, body } = await answerOf(request)
      assert.deepEqual([status, headers.connection], [stream ? 413 : 200, 'close'])
      assert.ok(JSON.stringify(body).includes('[REDACTED]'))
      // The agent's only place is free again.
      await soon(once(request, 'close'))
      assert.equal((await service.call('POST', '/v4/sandbox/start', { token: agent.token })).status, 201)
    }
  })

  test('is sent once: neither after a 401 nor to where the upstream redirects with 307', async (t) => {
    const { upload, upstream } = await startCalling(t, engine, {
      unread: (request, response) => {
        void buffer(request).then(() => {
          const isGet = request.method === 'GET'
          const status = isGet ? 200 : Number(request.url?.slice(1))
          response.writeHead(status, { location: '/elsewhere', 'content-type': 'application/json' }).end('{}')
        }, ignored)
      },
    })
    for (const [status, seen] of [
      [401, 401],
      [307, 307],
      [303, 200],
    ]) {
      const request = await upload({ ...bytes, url: `https://${upstream.host}/${status}`, follow_redirects: true })
      request.end('abc')
      assert.equal((await answerOf(request)).body.status, seen)
    }
    assert.deepEqual(
      upstream.received.map(({ method, path }) => `${method} ${path}`),
      ['POST /401', 'POST /307', 'POST /303', 'GET /elsewhere'],
    )
  })

  test('does not count as memory unless it is kept', async (t) => {
    const settings = { SALLYPORT_BODIES_IN_FLIGHT_PER_CALLER_BYTES: '300000' }
    const { upload } = await startCalling(t, engine, { settings, unread: measures })
    const passed = await upload(bytes)
    for (let sent = 0; sent < 40; sent++) passed.write(Buffer.alloc(65_536))
    passed.end()
    assert.equal((await answerOf(passed)).body.body.length, 40 * 65_536)
    const kept = await upload({ headers: { 'content-type': 'application/x-www-form-urlencoded' } })
    kept.end(Buffer.alloc(400_000, 97))
    assert.deepEqual((await errorOf(kept)).slice(0, 2), [429, 'rate_limited'])
  })

  test('has a line that counts as memory', async (t) => {
    const settings = { SALLYPORT_BODIES_IN_FLIGHT_PER_CALLER_BYTES: '70000', SALLYPORT_PROXY_BODY_BYTES: '70000' }
    const { upload } = await startCalling(t, engine, { settings, unread: measures })
    const held = await upload({ headers: { 'content-type': 'application/x-www-form-urlencoded' } })
    held.write(Buffer.alloc(30_000, 97))
    await sleep(200)
    const long = await upload({ ...bytes, headers: { 'x-long': 'a'.repeat(60_000) } })
    assert.deepEqual((await errorOf(long)).slice(0, 2), [429, 'rate_limited'])
    held.destroy()
  })
})
