/** What is refused of a tool's request, in words that the tool shows, and how a call ends before its answer has. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { IncomingMessage } from 'node:http'
import { accessToken, soon, startCalling } from '../../testkit/calling.ts'
import type { Calling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { openTunnel, startTools } from '../../testkit/tool-calling.ts'
import type { ToolReply } from '../../testkit/tool-calling.ts'

const codeOf = ({ status, body }: ToolReply) => [status, body?.error?.code]

/** Writes a request as bytes, and returns all that comes back. */
async function raw({ service }: Calling, request: string): Promise<string> {
  const { port } = service.app.http.server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.on('error', () => undefined)
  socket.write(request)
  return soon(text(socket))
}

onBothDatabases("a tool's request", (engine) => {
  test('for a part of the answer is refused, unless the provider allows ranges', async (t) => {
    const answer = (response: any) => response.writeHead(206, { 'content-range': 'bytes 0-1/9' }).end('ab')
    const calling = await startCalling(t, engine, { answer })
    const { call } = await startTools(t, calling)
    for (const name of ['range', 'request-range', 'x-ms-range']) {
      const headers = { [name]: 'bytes=0-1' }
      assert.deepEqual(codeOf(await call('/things', { headers })), [416, 'range_not_supported'])
    }
    assert.equal(calling.upstream.received.length, 0)
    const allowing = await startCalling(t, engine, { answer, provider: { allow_range: true } })
    const reply = await (await startTools(t, allowing)).call('/things', { headers: { range: 'bytes=0-1' } })
    assert.deepEqual([reply.status, reply.text, reply.headers['content-range']], [206, 'ab', 'bytes 0-1/9'])
    assert.equal(allowing.upstream.received[0]?.headers.range, 'bytes=0-1')
  })

  test('for another protocol is refused', async (t) => {
    const calling = await startCalling(t, engine)
    const { call } = await startTools(t, calling)
    const others: Record<string, string>[] = [
      { 'content-type': 'application/grpc' },
      { 'content-type': 'application/grpc+proto' },
      { connection: 'upgrade', upgrade: 'websocket' },
      { connection: 'upgrade', upgrade: 'h2c' },
    ]
    for (const headers of others) {
      assert.deepEqual(codeOf(await call('/things', { method: 'POST', headers })), [501, 'protocol_not_supported'])
    }
    assert.equal(
      (await call('/things', { method: 'POST', headers: { 'content-type': 'application/grpc-web' } })).status,
      200,
    )
  })

  test('is refused if its framing or its caller could be read in two ways', async (t) => {
    const calling = await startCalling(t, engine)
    const { key, base } = await startTools(t, calling)
    const head = `Host: localhost:8787\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n`
    const requests = [
      `POST ${base}/things HTTP/1.1\r\n${head}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `POST ${base}/things HTTP/1.1\r\n${head}Content-Length: 3\r\nContent-Length: 5\r\n\r\nabc`,
      `POST ${base}/things HTTP/1.1\r\n${head}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
      `POST ${base}/things HTTP/1.0\r\n${head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `GET ${base}/things HTTP/1.1\r\n${head}Host: elsewhere.example\r\n\r\n`,
      `GET ${base}/things HTTP/1.1\r\n${head}Authorization: Bearer other\r\n\r\n`,
      `GET ${base}/things HTTP/1.1\r\n${head.replace('localhost:8787', 'elsewhere.example')}\r\n`,
      `GET ${base}/things HTTP/1.1\r\n${head}Content-Length: 30\r\n\r\nGET /admin HTTP/1.1\r\nHost: x\r\n\r\n`,
    ]
    for (const request of requests) {
      const answer = await raw(calling, request)
      assert.match(answer, /^HTTP\/1\.1 4(?:00|21) /, request)
      assert.equal(answer.match(/HTTP\/1\.1 /g)?.length, 1, answer)
    }
    assert.equal(calling.upstream.received.length, 0)
  })

  test('hides no header behind Connection, and none of ours reaches the API', async (t) => {
    const calling = await startCalling(t, engine)
    const { call } = await startTools(t, calling)
    await call('/things', {
      headers: {
        ...{ connection: 'close, x-hop', 'x-hop': '1', te: 'trailers', 'proxy-authorization': 'Basic a' },
        ...{ 'x-forwarded-for': '10.0.0.1', 'x-sallyport-wait': '1', cookie: 'session=1', forwarded: 'for=a' },
        ...{ 'x-forwarded-host': 'elsewhere.example', 'x-original-url': '/admin', 'proxy-connection': 'close' },
      },
    })
    const { headers = {} } = calling.upstream.received[0] ?? {}
    assert.deepEqual(Object.keys(headers).sort(), [
      'accept-encoding',
      'authorization',
      'connection',
      'host',
      'user-agent',
    ])
    assert.equal(headers.host, calling.upstream.host)
  })

  test('is asked for its body only once that is read', async (t) => {
    const calling = await startCalling(t, engine, { terms: { allowedMethods: ['PUT'] } })
    const { key, base } = await startTools(t, calling)
    const expecting = (method: string) =>
      `${method} ${base}/things HTTP/1.1\r\nHost: localhost:8787\r\nAuthorization: Bearer ${key}\r\n` +
      'Content-Type: text/plain\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n'
    assert.match(await raw(calling, expecting('POST')), /^HTTP\/1\.1 403 /)
    const { port } = calling.service.app.http.server.address() as AddressInfo
    const socket = connect(port, '127.0.0.1')
    t.after(() => socket.destroy())
    socket.write(expecting('PUT'))
    const [first] = (await soon(once(socket, 'data'))) as [Buffer]
    assert.equal(first.toString(), 'HTTP/1.1 100 Continue\r\n\r\n')
    socket.write('ab')
    assert.match(await soon(text(socket)), /^HTTP\/1\.1 200 /)
    assert.equal(calling.upstream.received[0]?.body, 'ab')
  })
})

onBothDatabases("a tool's call", (engine) => {
  test('ends within about a second when its grant, its key or its agent does', async (t) => {
    const begin = (response: any) => {
      response.write('begun')
    }
    const endings: Record<string, (calling: Calling, keyId: string) => Promise<unknown>> = {
      grant: ({ service, agent, grantId }) =>
        service.call('POST', `/v4/grants/${grantId}/revoke`, { token: agent.token }),
      key: ({ service, agent }, keyId) => service.call('DELETE', `/v4/agents/keys/${keyId}`, { token: agent.token }),
      agent: ({ service, agent }) =>
        service.call('POST', `/v4/agents/${agent.agentId}/disable`, { token: service.adminToken }),
    }
    for (const [what, end] of Object.entries(endings)) {
      const calling = await startCalling(t, engine, { answer: begin })
      const { keyId, open, base } = await startTools(t, calling)
      const request = open(`${base}/things`).end()
      const [answer] = (await soon(once(request, 'response'))) as [IncomingMessage]
      const cut = assert.rejects(soon(answer.toArray()), what)
      await end(calling, keyId)
      await calling.service.app.checkCallsInFlight()
      await cut
      const [, outcome] = await calling.records()
      assert.equal(outcome?.detail.outcome, 'failed', what)
    }
  })

  test('whose tool goes away during an upload ends at the API too, and is on record', async (t) => {
    const ended = Promise.withResolvers<undefined>()
    const calling = await startCalling(t, engine, {
      unread: (request) => {
        request.resume().on('error', () => undefined)
        request.on('close', () => {
          ended.resolve(undefined)
        })
      },
    })
    const { open, base } = await startTools(t, calling)
    const headers = { 'content-type': 'application/octet-stream', 'content-length': '1000000' }
    const request = open(`${base}/things`, { method: 'PUT', headers })
    request.write(Buffer.alloc(1000))
    while (calling.upstream.received.length === 0) await sleep(10)
    request.destroy()
    await soon(ended.promise)
    const records = await calling.records()
    const outcome = records.find(({ event }) => event === 'proxy.outcome')
    assert.equal(outcome?.detail.outcome, 'failed')
    assert.equal(calling.upstream.received[0]?.headers['content-length'], '1000000')
  })

  test('waits while its agent is over the rate, and is then refused', async (t) => {
    const rate = { SALLYPORT_PROXY_RATE_PER_AGENT: '1', SALLYPORT_PROXY_BURST_PER_AGENT: '1' }
    const calling = await startCalling(t, engine, { settings: { ...rate, SALLYPORT_TOOL_RATE_WAIT_SECONDS: '3' } })
    const { call } = await startTools(t, calling)
    assert.equal((await call('/things')).status, 200)
    const waits = call('/things')
    assert.equal(calling.upstream.received.length, 1)
    calling.service.clock.advance(1)
    assert.equal((await waits).status, 200)
    const refused = await call('/things')
    assert.deepEqual([...codeOf(refused), refused.headers['retry-after']], [429, 'rate_limited', '1'])
    assert.match(refused.body.message as string, /Too many requests/)
  })

  test('is found in the log by its door, wherever the log is read', async (t) => {
    const calling = await startCalling(t, engine)
    const { service, agent, upstream } = calling
    const { key, call } = await startTools(t, calling)
    await calling.proxy()
    service.clock.advance(1)
    await call('/things')
    service.clock.advance(1)
    const send = await openTunnel(t, calling, { key, host: upstream.host, version: 'HTTP/1.1' })
    await send('/things')
    service.clock.advance(1)
    await send('/things', { headers: { upgrade: 'websocket' } })
    await calling.records()
    const list = await service.call('GET', '/v4/audit', { token: agent.token })
    const calls = (list.body.records as { event: string; door: string | null; detail: { door?: string } }[])
      .filter(({ event }) => event.startsWith('proxy.'))
      .reverse()
    assert.deepEqual(
      calls.map(({ event, door, detail }) => [event, door, detail.door]),
      [
        ['proxy.attempt', 'proxy', undefined],
        ['proxy.attempt', 'base_url', 'base_url'],
        ['proxy.attempt', 'gateway', 'gateway'],
        ['proxy.refused', 'gateway', 'gateway'],
      ],
    )
    const csv = await service.call('GET', '/v4/audit?format=csv', { token: agent.token })
    const [header = '', ...rows] = csv.text.trim().split('\r\n')
    assert.equal(header.split(',').at(-1), 'door')
    assert.deepEqual(rows.map((row) => row.split(',').at(-1)).sort(), [
      '',
      '',
      'base_url',
      'gateway',
      'gateway',
      'proxy',
    ])
    const lines = await service.call('GET', '/v4/audit?format=ndjson', { token: agent.token })
    assert.equal(lines.text.match(/"door":"gateway"/g)?.length, 4)
  })

  test('shows the credential nowhere, even if the API does', async (t) => {
    const calling = await startCalling(t, engine, {
      answer: (response) => {
        response.writeHead(302, {
          ...{
            location: `/next?token=${accessToken}`,
            'x-echo': accessToken,
            link: `</a?t=${accessToken}>; rel="next"`,
          },
          ...{
            'content-type': 'text/plain',
            trailer: 'x-sum',
            etag: `"${Buffer.from(accessToken).toString('base64')}"`,
          },
        })
        response.write(accessToken.slice(0, 11))
        response.write(`${accessToken.slice(11)} ${encodeURIComponent(accessToken)}`)
        response.addTrailers({ 'x-sum': accessToken })
        response.end()
      },
    })
    const { key, call } = await startTools(t, calling)
    const replies = [await call('/things')]
    for (const version of ['HTTP/1.1', 'HTTP/2'] as const) {
      const send = await openTunnel(t, calling, { key, host: calling.upstream.host, version })
      replies.push(await send('/things'))
    }
    for (const { status, headers, trailers, text: body } of replies) {
      assert.equal(status, 302)
      const all = JSON.stringify([headers, trailers, body])
      assert.ok(!all.includes(accessToken) && !all.includes(accessToken.slice(4)), all)
      assert.match(all, /REDACTED/)
      assert.ok(!all.includes(Buffer.from(accessToken).toString('base64')))
    }
  })
})
