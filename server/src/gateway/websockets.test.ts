/** WebSockets through the gateway: a handshake is a call, and what comes back is redacted, whatever either side does. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { after, before, describe, test } from 'node:test'
import { acceptOf, frameOf } from '@sallyport/protocol/websocket-messages'
import { Client, WebSocket } from 'undici'
import { accessToken, soon } from '../../testkit/calling.ts'
import { getOn, startGateway } from '../../testkit/gateway.ts'
import type { TestGateway } from '../../testkit/gateway.ts'
import { agree, clientKey, oddFrame, shakeHands } from '../../testkit/websocket.ts'
import type { Handshake, HandshakeReply, Peer } from '../../testkit/websocket.ts'

const half = accessToken.length / 2
const mask = Buffer.from([1, 2, 3, 4])

let world: TestGateway
/** What the upstream got of the last handshake, and its end of the connection. */
let asked: IncomingMessage
let api: Peer

/** Answers as the path says. */
function answer(request: IncomingMessage, socket: Duplex): void {
  asked = request
  const path = request.url ?? ''
  if (path === '/refuses') {
    socket.end(`HTTP/1.1 403 Forbidden\r\nX-Why: ${accessToken}\r\nContent-Length: 3\r\n\r\nno!`)
    return
  }
  const more: Record<string, string[]> = {
    '/extends': ['Sec-WebSocket-Extensions: permessage-deflate'],
    '/chooses': ['Sec-WebSocket-Protocol: other'],
    '/chats': ['Sec-WebSocket-Protocol: chat'],
  }
  if (path === '/lies') {
    agree({ headers: { 'sec-websocket-key': 'another' } }, socket)
    return
  }
  const greeting = frameOf({ kind: 'text', data: Buffer.from('hello') }, { isFromClient: false })
  api = agree(request, socket, { more: more[path] ?? [], ...(path === '/greets' && { behind: greeting }) })
  if (path === '/echo' || path.startsWith('/chats')) void echo(api)
}

async function echo(peer: Peer): Promise<void> {
  for (let message = await peer.next(); message; message = await peer.next()) {
    if (message.kind === 'pong') continue
    peer.send(message.kind === 'ping' ? 'pong' : message.kind, message.data)
    if (message.kind === 'close') peer.socket.end()
  }
}

async function open(options: Partial<Handshake> = {}): Promise<HandshakeReply> {
  return soon(shakeHands(await world.tunnel(), { host: world.upstream.host, path: '/quiet', ...options }))
}

async function outcome() {
  const records = await world.records()
  return records.findLast(({ event }) => event === 'proxy.outcome')?.detail
}

describe('a WebSocket', () => {
  const endings: (() => unknown)[] = []
  before(async () => {
    const scope = { after: (ending: () => unknown) => endings.push(ending) } as Parameters<typeof startGateway>[0]
    world = await startGateway(scope, 'sqlite', { onHandshake: answer })
  })
  after(async () => {
    for (const ending of endings) await ending()
  })

  test('is a call: with the credential, without extensions, on record', async () => {
    const headers = [
      'Sec-WebSocket-Extensions: permessage-deflate',
      'Sec-WebSocket-Protocol: chat, other',
      'Cookie: a=b',
    ]
    const { status, headers: got, peer } = await open({ path: '/chats?a=1', headers })
    const { status: chatting, headers: chosen, peer: chat } = await open({ path: '/chats', headers })
    assert.deepEqual([status, chatting, chosen['sec-websocket-protocol']], [101, 101, 'chat'])
    assert.equal(got['sec-websocket-accept'], acceptOf(clientKey))
    assert.deepEqual([got['sec-websocket-extensions'], got['x-sallyport-upstream']], [undefined, '1'])
    assert.equal(asked.headers.authorization, `Bearer ${accessToken}`)
    assert.equal(asked.headers['sec-websocket-protocol'], 'chat, other')
    assert.deepEqual([asked.headers['sec-websocket-extensions'], asked.headers.cookie], [undefined, undefined])
    assert.notEqual(asked.headers['sec-websocket-key'], clientKey)
    for (const one of [peer, chat]) one.close(1000)
    await soon(Promise.all([peer, chat].map((one) => once(one.socket, 'close'))))
    const [attempt] = (await world.records()).filter(({ event }) => event === 'proxy.attempt')
    assert.deepEqual(
      [attempt?.detail.door, attempt?.detail.method, attempt?.detail.path, attempt?.detail.query],
      ['gateway', 'GET', '/chats', ['a']],
    )
  })

  test('carries messages of another implementation both ways', async () => {
    const socket = await world.tunnel()
    const dispatcher = new Client(`https://${world.upstream.host}`, {
      connect: (_options, callback) => {
        setImmediate(callback, null, socket)
      },
    })
    const client = new WebSocket(`wss://${world.upstream.host}/echo`, { dispatcher })
    client.binaryType = 'arraybuffer'
    await soon(once(client as never, 'open'))
    const sent = ['', 'text', 'ä'.repeat(400), Buffer.alloc(1), Buffer.alloc(70_000, 7), Buffer.alloc(1_048_576, 1)]
    for (const data of sent) {
      const echoed = once(client as never, 'message') as Promise<[MessageEvent]>
      client.send(data)
      const [{ data: received }] = await soon(echoed)
      if (typeof data === 'string') assert.equal(received, data)
      else assert.ok(Buffer.from(received as ArrayBuffer).equals(data))
    }
    const closed = once(client as never, 'close') as Promise<[CloseEvent]>
    client.close(4000, 'done')
    const [{ code, reason, wasClean }] = await soon(closed)
    assert.deepEqual([code, reason, wasClean], [4000, 'done', true])
    await dispatcher.destroy()
    const { outcome: what, status, redactions } = (await outcome()) ?? {}
    assert.deepEqual([what, status, redactions], ['answered', 101, 0])
  })

  test('shows the credential nowhere: in messages, fragments, pings, pongs and reasons of a close', async () => {
    const { peer } = await open()
    api.send('text', `a ${accessToken} b`)
    api.send('binary', Buffer.from(`\xff${Buffer.from(accessToken).toString('base64')},`, 'latin1'))
    const pieces = [accessToken.slice(0, half), accessToken.slice(half, half + 1), accessToken.slice(half + 1)]
    api.raw(oddFrame(0x01, Buffer.from(pieces[0] ?? '')))
    api.send('ping', accessToken)
    api.raw(oddFrame(0x00, Buffer.from(pieces[1] ?? '')))
    api.raw(oddFrame(0x00, Buffer.alloc(0)))
    api.raw(oddFrame(0x80, Buffer.from(pieces[2] ?? '')))
    api.send('pong', accessToken)
    api.close(1000, `bye ${accessToken}`)
    const received: string[] = []
    for (let message = await soon(peer.next()); message; message = await soon(peer.next())) {
      received.push(`${message.kind} ${message.data.toString('latin1')}`)
      if (message.kind === 'close') peer.close(1000)
    }
    assert.deepEqual(received, [
      'text a [REDACTED] b',
      'binary \xff[REDACTED],',
      'ping [REDACTED]',
      'text [REDACTED]',
      'pong [REDACTED]',
      'close \x03\xe8bye [REDACTED]',
    ])
    assert.equal((await outcome())?.redactions, 6)
  })

  test('that the API refuses gets its answer, redacted', async () => {
    const { status, headers, body } = await open({ path: '/refuses' })
    assert.deepEqual([status, headers['x-why'], body], [403, '[REDACTED]', '3\r\nno!\r\n0\r\n\r\n'])
    assert.equal((await outcome())?.status, 403)
  })

  test('is the only protocol that a connection may change to', async () => {
    for (const upgrade of ['h2c', 'websocket, h2c', 'TLS/1.0']) {
      const headers = { host: world.upstream.host, connection: 'upgrade', upgrade }
      const reply = await getOn(await world.tunnel(), { path: '/quiet', headers })
      assert.deepEqual([reply.status, reply.headers['x-sallyport-error']], [501, 'protocol_not_supported'], upgrade)
    }
  })

  test('is refused if the API answers with an extension, another protocol or a wrong proof', async () => {
    for (const path of ['/extends', '/chooses', '/lies']) {
      const { status, headers } = await open({ path })
      assert.deepEqual([status, headers['x-sallyport-error']], [502, 'upstream_unreachable'], path)
    }
  })

  test('is refused if the handshake is malformed', async () => {
    const handshakes = [
      'Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short',
      'Sec-WebSocket-Version: 13',
    ]
    for (const lines of handshakes) {
      const socket = await world.tunnel()
      socket.write(
        `GET /quiet HTTP/1.1\r\nHost: ${world.upstream.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${lines}\r\n\r\n`,
      )
      const text = Buffer.concat(await soon(socket.toArray())).toString()
      assert.match(text, /^HTTP\/1\.1 400 .*invalid_http/s, lines)
    }
  })

  test('takes what either side sends with its handshake', async () => {
    const behind = frameOf({ kind: 'text', data: Buffer.from('early') }, { isFromClient: true })
    const { peer } = await open({ path: '/greets', behind })
    assert.equal((await soon(peer.next()))?.data.toString(), 'hello')
    assert.equal((await soon(api.next()))?.data.toString(), 'early')
    peer.close(1000)
    assert.deepEqual(await soon(api.closed()), { code: 1000, reason: '' })
    api.close(1000)
    assert.deepEqual(await soon(peer.closed()), { code: 1000, reason: '' })
  })

  test('ends if the client breaks a rule', async () => {
    const data = Buffer.from('ab')
    const control = Buffer.alloc(126)
    const broken: Record<string, [Buffer, number]> = {
      'without a mask': [oddFrame(0x81, data), 1002],
      'a reserved bit': [oddFrame(0xc1, data, { mask }), 1002],
      'an unknown opcode': [oddFrame(0x83, data, { mask }), 1002],
      'a long ping': [oddFrame(0x89, control, { mask }), 1002],
      'a ping in pieces': [oddFrame(0x09, data, { mask }), 1002],
      'a continuation of nothing': [oddFrame(0x80, data, { mask }), 1002],
      'a message within another': [
        Buffer.concat([oddFrame(0x01, data, { mask }), oddFrame(0x81, data, { mask })]),
        1002,
      ],
      'a length that is not the shortest': [Buffer.from([0x82, 0xfe, 0, 2, ...mask, 1, 2]), 1002],
      'a text that is not UTF-8': [oddFrame(0x81, Buffer.from([0xff]), { mask }), 1007],
      'a close of one byte': [oddFrame(0x88, Buffer.from([3]), { mask }), 1002],
      'a close with a code that is never sent': [oddFrame(0x88, Buffer.from([3, 0xee]), { mask }), 1002],
      'a reason that is not UTF-8': [oddFrame(0x88, Buffer.from([3, 0xe8, 0xff]), { mask }), 1007],
      'more than 1 MiB': [Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0, 0x10, 0, 1, ...mask]), 1009],
      'more than can be': [Buffer.from([0x82, 0xff, ...Buffer.alloc(8, 0xff), ...mask]), 1009],
    }
    for (const [what, [bytes, code]] of Object.entries(broken)) {
      const { peer } = await open()
      peer.raw(bytes)
      assert.equal((await soon(peer.closed()))?.code, code, what)
      assert.equal((await soon(api.closed()))?.code, code === 1009 ? 1009 : 1001, what)
    }
  })

  test('ends if the API breaks a rule', async () => {
    const data = Buffer.from('ab')
    const broken: Record<string, [Buffer, number]> = {
      'a mask': [oddFrame(0x81, data, { mask }), 1014],
      'a reserved bit': [oddFrame(0xc1, data), 1014],
      'a long pong': [oddFrame(0x8a, Buffer.alloc(126)), 1014],
      'more than 1 MiB': [Buffer.from([0x82, 127, 0, 0, 0, 0, 0, 0x10, 0, 1]), 1009],
    }
    for (const [what, [bytes, code]] of Object.entries(broken)) {
      const { peer } = await open()
      api.raw(bytes)
      assert.equal((await soon(peer.closed()))?.code, code, what)
      assert.ok([1002, 1009].includes((await soon(api.closed()))?.code ?? 0), what)
      assert.deepEqual((await outcome())?.outcome, 'failed', what)
    }
  })

  test('ends with more than 1 MiB in fragments', async () => {
    const { peer } = await open()
    const fragment = Buffer.alloc(60_000)
    api.raw(oddFrame(0x02, fragment))
    for (let sent = fragment.length; sent <= 1_048_576; sent += fragment.length) api.raw(oddFrame(0x00, fragment))
    assert.equal((await soon(peer.closed()))?.code, 1009)
  })

  test('ends when either side vanishes', async () => {
    const { peer } = await open()
    peer.socket.destroy()
    assert.equal((await soon(api.closed()))?.code, 1001)
    assert.deepEqual([(await outcome())?.outcome, (await outcome())?.code], ['failed', 'caller_gone'])
    const { peer: other } = await open()
    api.socket.destroy()
    assert.equal((await soon(other.closed()))?.code, 1014)
    assert.deepEqual([(await outcome())?.outcome, (await outcome())?.code], ['failed', 'upstream_unreachable'])
  })

  test('passes on no faster than the other side takes it', async () => {
    const { peer } = await open()
    peer.socket.pause()
    const chunk = Buffer.alloc(1_000_000)
    let sent = 0
    while (sent < 200 && api.socket.writableLength < 8_000_000) {
      api.send('binary', chunk)
      sent++
      await sleep(5)
    }
    // Buffers of four sockets fill up before the sender notices.
    assert.ok(sent < 200, 'the service read all of it')
    peer.socket.resume()
    for (let received = 0; received < sent; received++) assert.equal((await soon(peer.next()))?.data.length, 1_000_000)
    peer.socket.destroy()
  })

  test('can be ended while one side has closed and the other still sends', async (t) => {
    const own = await startGateway(t, 'sqlite', { onHandshake: answer })
    const { peer } = await soon(shakeHands(await own.tunnel(), { host: own.upstream.host, path: '/quiet' }))
    peer.close(1000)
    assert.equal((await soon(api.closed()))?.code, 1000)
    await own.service.call('DELETE', `/v4/agents/keys/${own.keyId}`, { token: own.agent.token })
    await own.service.app.checkCallsInFlight()
    await soon(once(api.socket, 'close'))
    const { outcome: how, code } =
      (await own.records()).findLast(({ event }) => event === 'proxy.outcome')?.detail ?? {}
    assert.deepEqual([how, code], ['failed', 'unauthenticated'])
  })

  test('asks nobody: a grant that asks before changes does not open it', async (t) => {
    const asking = await startGateway(t, 'sqlite', { onHandshake: answer, terms: { mode: 'ask_writes' } })
    const reply = await soon(shakeHands(await asking.tunnel(), { host: asking.upstream.host }))
    assert.deepEqual([reply.status, reply.headers['x-sallyport-error']], [403, 'access_not_allowed'])
  })

  test('ends if nothing is sent for too long', async (t) => {
    const settings = { SALLYPORT_TOOL_IDLE_SECONDS: '1' }
    const own = await startGateway(t, 'sqlite', { onHandshake: answer, settings })
    const { peer } = await soon(shakeHands(await own.tunnel(), { host: own.upstream.host }))
    assert.equal((await soon(peer.closed()))?.code, 1001)
    const records = await own.records()
    assert.equal(records.at(-1)?.detail.code, 'upstream_timeout')
  })

  test('works at base URLs', async (t) => {
    const { service, grantId, upstream, key } = world
    const { http } = service.app
    await http.listen({ host: '127.0.0.1', port: 0 })
    const socket = connect({ port: (http.server.address() as { port: number }).port, host: '127.0.0.1' })
    t.after(() => socket.destroy())
    const path = `/v4/proxy/${grantId}/${upstream.host}/echo`
    const headers = [`Authorization: Bearer ${key}`]
    const { status, peer } = await soon(shakeHands(socket, { host: service.config.baseUrl.host, path, headers }))
    assert.equal(status, 101)
    peer.send('text', accessToken)
    assert.equal((await soon(peer.next()))?.data.toString(), '[REDACTED]')
    peer.close(1000)
    await soon(peer.closed())
  })

  test('ends with its grant, its key, its agent, and with the service', async (t) => {
    const endings: Record<string, [number, (own: TestGateway) => Promise<unknown>]> = {
      grant: [
        1008,
        ({ service: { call }, agent, grantId }) => call('POST', `/v4/grants/${grantId}/revoke`, { token: agent.token }),
      ],
      key: [
        1008,
        ({ service: { call }, agent, keyId }) => call('DELETE', `/v4/agents/keys/${keyId}`, { token: agent.token }),
      ],
      agent: [
        1008,
        ({ service: { call, adminToken }, agent }) =>
          call('POST', `/v4/agents/${agent.agentId}/disable`, { token: adminToken }),
      ],
      service: [1001, ({ service }) => service.app.http.close()],
    }
    for (const [what, [code, end]] of Object.entries(endings)) {
      const own = await startGateway(t, 'sqlite', { onHandshake: answer })
      const { peer } = await soon(shakeHands(await own.tunnel(), { host: own.upstream.host, path: '/quiet' }))
      const ending = end(own)
      if (what !== 'service') await ending
      await own.service.app.checkCallsInFlight()
      const closed = await soon(peer.closed())
      assert.equal(closed?.code, code, what)
      assert.match(closed.reason, /\.$/, what)
      assert.equal((await soon(api.closed()))?.code, 1001, what)
      await soon(once(peer.socket, 'close'))
      await ending
    }
  })
})
