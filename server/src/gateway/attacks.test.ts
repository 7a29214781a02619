/** What a hostile client, or a stolen key, gets from the gateway: nothing, and a record. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { constants } from 'node:http2'
import type { ClientHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { finished } from 'node:stream/promises'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { recorded } from '../../testkit/audit.ts'
import { accessToken, soon } from '../../testkit/calling.ts'
import { createAuthority, sharedAuthority } from '../../testkit/certificates.ts'
import { temporaryFolder } from '../../testkit/databases.ts'
import { basic, getOn, getOver, requestOn, startGateway } from '../../testkit/gateway.ts'
import type { TestGateway } from '../../testkit/gateway.ts'
import { insertGrant } from '../../testkit/grants.ts'
import { reset as resetTls } from '../../testkit/raw-http.ts'
import { startTlsUpstream } from '../../testkit/tls-upstream.ts'
import { makeKey } from '../../testkit/tool-calling.ts'
import { maxResets, maxStreams } from '../platform/http/tunnels/tunnel-servers.ts'

/** Covered by a grant of the same key. */
const otherHost = 'api.example.com'

let world: TestGateway
/** For both hosts. */
let key: string

async function refusals(code: string) {
  await world.service.app.flushRefusals()
  const records = await recorded(world.service, 'proxy.')
  return records.filter(({ event, detail }) => event === 'proxy.refused' && detail.code === code)
}

/** Writes a request as bytes into a tunnel, and returns all that comes back. */
async function raw(lines: string[], body = ''): Promise<string> {
  const socket = await world.tunnel()
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`)
  return soon(text(socket))
}

async function openTunnels(): Promise<number> {
  const figures = await world.service.app.metrics.registry.metrics()
  return Number(/^sallyport_gateway_tunnels (\d+)$/m.exec(figures)?.[1])
}

/** A key of another agent, for the hosts of a grant of its own. */
async function otherAgent(allowedHosts: string[]) {
  const { service, userId, connectionId } = world
  const agent = await service.registerAgent()
  const { grantId } = await insertGrant(service, { agentId: agent.agentId, userId, connectionId, allowedHosts })
  return { ...(await makeKey(world, [grantId], agent.token)), agent, grantId }
}

describe('the gateway', () => {
  const endings: (() => unknown)[] = []
  before(async () => {
    const scope = { after: (ending: () => unknown) => endings.push(ending) } as Parameters<typeof startGateway>[0]
    world = await startGateway(scope, 'sqlite', {
      settings: { SALLYPORT_EGRESS_ALLOW: '127.0.0.0/8' },
      answer: (response, { path }) => {
        if (path === '/begins') response.write('begun')
        else response.end('done')
      },
    })
    const { service, upstream, agent, userId, connectionId, providerId, grantId } = world
    const body = { api_hosts: [upstream.host, '*.example.com'] }
    const changed = await service.call('PATCH', `/v4/providers/${providerId}`, { token: service.adminToken, body })
    assert.equal(changed.status, 200, changed.text)
    const other = await insertGrant(service, {
      ...{ agentId: agent.agentId, userId, connectionId },
      allowedHosts: [otherHost],
    })
    ;({ key } = await makeKey(world, [grantId, other.grantId]))
  })
  after(async () => {
    for (const ending of endings) await ending()
  })

  test('ends a handshake that asks for another host than its CONNECT', async () => {
    for (const servername of [otherHost, 'elsewhere.example', '']) {
      const { socket } = await world.connect(world.upstream.host, basic(key))
      const secured = connectTls({ socket, servername, rejectUnauthorized: false })
      const [error] = (await soon(once(secured, 'error'))) as [Error]
      assert.ok(error, servername)
    }
    // A client that sends no name has asked for none.
    const hosts = (await refusals('wrong_host')).map(({ detail }) => detail.host)
    assert.deepEqual(hosts.slice(-2), [otherHost, 'elsewhere.example'])
  })

  test('answers 421 to a request for another host than that of its tunnel', async () => {
    const { upstream } = world
    const count = upstream.received.length
    const requests = [
      ['GET / HTTP/1.1', `Host: ${otherHost}`],
      ['GET / HTTP/1.1', 'Host: localhost'],
      [`GET https://${otherHost}/ HTTP/1.1`, `Host: ${upstream.host}`],
      [`GET http://${upstream.host}/ HTTP/1.1`, `Host: ${upstream.host}`],
      ['GET / HTTP/1.1', `Host: ${upstream.host}.`],
    ]
    for (const lines of requests) {
      assert.match(await raw([...lines, 'Connection: close']), /^HTTP\/1\.1 421 .*wrong_host/s, lines.join())
    }
    const session = await world.http2({ credential: basic(key) })
    for (const headers of [{ ':authority': otherHost }, { host: otherHost }, { ':scheme': 'http' }]) {
      const reply = await soon(getOver(session, { ':path': '/', ...headers }))
      assert.deepEqual([reply.status, reply.headers['x-sallyport-error']], [421, 'wrong_host'], JSON.stringify(headers))
    }
    assert.equal(upstream.received.length, count)
    assert.ok((await refusals('wrong_host')).some(({ detail }) => detail.host === otherHost && detail.method === 'GET'))
    session.destroy()
  })

  test('reads no request twice, and no bytes behind one that it refuses', async () => {
    const { upstream } = world
    const count = upstream.received.length
    const hidden = `GET /hidden HTTP/1.1\r\nHost: ${upstream.host}\r\n\r\n`
    const start = ['POST / HTTP/1.1', `Host: ${upstream.host}`]
    const framings = [
      ['Content-Length: 4', 'Transfer-Encoding: chunked'],
      ['Content-Length: 4', 'Content-Length: 60'],
      ['Transfer-Encoding: gzip, chunked'],
      ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'],
      ['Transfer-Encoding : chunked'],
      ['Content-Length: +4'],
      ['Transfer-Encoding: chunked\r\n\tx'],
    ]
    for (const lines of framings) {
      const answer = await raw([...start, ...lines], `0\r\n\r\n${hidden}`)
      assert.match(answer, /^HTTP\/1\.1 400 /, lines.join())
      assert.equal(answer.match(/HTTP\/1\.1 /g)?.length, 1, answer)
    }
    // A handshake has no body, whatever it says.
    const upgrade = ['GET / HTTP/1.1', `Host: ${upstream.host}`, 'Upgrade: websocket', 'Connection: upgrade, close']
    const handshake = await raw([...upgrade, `Content-Length: ${hidden.length}`], hidden)
    assert.match(handshake, /^HTTP\/1\.1 501 .*protocol_not_supported/s)
    assert.equal(handshake.match(/HTTP\/1\.1 /g)?.length, 1)
    assert.equal(upstream.received.length, count)
  })

  test('takes bytes behind a CONNECT for a handshake, and no body', async () => {
    const { upstream, port } = world
    const count = upstream.received.length
    const send = async (more: string, behind: string) => {
      const socket = await world.openSocket()
      const lines = [
        `CONNECT ${upstream.host} HTTP/1.1`,
        `Host: ${upstream.host}`,
        `Proxy-Authorization: ${basic(key)}`,
      ]
      socket.write(`${lines.join('\r\n')}\r\n${more}\r\n${behind}`)
      return soon(text(socket))
    }
    const plain = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: ${upstream.host}\r\n\r\n`
    assert.match(await send('', plain), /^HTTP\/1\.1 200 [^\r]*\r\n\r\n[^H]*$/)
    for (const framing of ['Content-Length: 10', 'Transfer-Encoding: chunked']) {
      assert.match(await send(`${framing}\r\n`, plain), /^HTTP\/1\.1 400 (?!.*HTTP\/1\.1)/s, framing)
    }
    assert.equal(upstream.received.length, count)
  })

  test('opens no tunnel behind a request whose response is not out yet', async () => {
    const { upstream } = world
    const auth = `Proxy-Authorization: ${basic(key)}`
    const socket = await world.openSocket()
    const head = (line: string) => [line, `Host: ${upstream.host}`, auth, '', ''].join('\r\n')
    const get = head(`GET https://${upstream.host}/begins HTTP/1.1`)
    socket.write(get + head(`CONNECT ${upstream.host} HTTP/1.1`))
    assert.doesNotMatch(await soon(text(socket)), /200 Connection|begun/)
  })

  test('survives a client that resets at each step', async () => {
    const { upstream } = world
    const reset = (socket: Socket) => {
      socket.resetAndDestroy()
    }
    const tunnelled = async (written: string) => {
      const secured = await world.tunnel()
      secured.write(written)
      resetTls(secured)
    }
    const headers = `Host: ${upstream.host}\r\nContent-Type: text/plain\r\nContent-Length: 100000\r\n\r\n`
    reset(await world.openSocket())
    const half = await world.openSocket()
    half.write(`CONNECT ${upstream.host} HTTP/1.1\r\nHost: `)
    reset(half)
    const whole = await world.openSocket()
    whole.write(`CONNECT ${upstream.host} HTTP/1.1\r\nProxy-Authorization: ${basic(key)}\r\n\r\n`)
    reset(whole)
    await sleep(1000)
    reset((await world.connect()).socket)
    const { socket: greeting } = await world.connect()
    greeting.write(Buffer.from([22, 3, 1, 0, 200, 1]))
    reset(greeting)
    await tunnelled('')
    await tunnelled('GET /things HTTP/1.1\r\nHo')
    await tunnelled(`POST /things HTTP/1.1\r\n${headers}some`)
    const answered = await world.tunnel()
    const request = requestOn(answered, { path: '/begins', headers: { host: upstream.host } })
    request.on('response', (response) => response.on('error', () => undefined))
    request.end()
    await soon(once(request, 'response'))
    answered.destroy()
    const session = await world.http2()
    const stream = session.request({ ':path': '/begins' }).on('error', () => undefined)
    await soon(once(stream, 'response'))
    stream.close(constants.NGHTTP2_CANCEL)
    session.destroy()
    // Ended calls have their outcome, and nothing of a tunnel is left.
    await world.records()
    while ((await openTunnels()) > 0) await sleep(20)
    const reply = await getOn(await world.tunnel(), { path: '/things', headers: { host: upstream.host } })
    assert.deepEqual([reply.status, reply.body], [200, 'done'])
  })

  test('allows 100 streams of a connection, and ends one that resets them quickly', async () => {
    const session = await world.http2()
    if (session.remoteSettings.maxConcurrentStreams === undefined) await soon(once(session, 'remoteSettings'))
    assert.equal(session.remoteSettings.maxConcurrentStreams, maxStreams)
    const ended = new Promise((resolve) => session.once('goaway', resolve))
    const closed = new Promise((resolve) => session.once('close', resolve))
    for (let count = 0; count <= 2 * maxResets && !session.closed; count++) {
      const stream: ClientHttp2Stream = session.request({ ':path': '/things' }).on('error', () => undefined)
      // Before that, a reset is not sent, and the request neither.
      await sleep(1)
      stream.close(constants.NGHTTP2_CANCEL)
    }
    assert.equal(await soon(ended), constants.NGHTTP2_ENHANCE_YOUR_CALM)
    await soon(closed)
  })

  test('opens no WebSocket over HTTP/2', async () => {
    const session = await world.http2()
    assert.notEqual(session.remoteSettings.enableConnectProtocol, true)
    session.destroy()
  })

  test('issues no certificate for a host without a grant', async () => {
    const hosts = ['elsewhere.example:443', 'example.com:443', '127.0.0.1:443', 'localhost:443', 'localhost:8787']
    for (const host of [...hosts, `${otherHost}:444`, `user@${otherHost}:443`, `${otherHost}.:443`]) {
      const { status, socket } = await world.connect(host, basic(key))
      assert.ok(status === 403 || status === 400, `${host} ${status}`)
      socket.destroy()
    }
    const hostsRefused = (await refusals('host_not_allowed')).map(({ detail }) => detail.host)
    assert.ok(hostsRefused.includes('elsewhere.example') && hostsRefused.includes('127.0.0.1'))
  })

  test('bounds tunnels and new names, whatever the number of names', async () => {
    const own = await otherAgent(['*.example.com'])
    const open = async (name: string) => {
      const { status, headers, socket } = await world.connect(`${name}.example.com:443`, basic(own.key))
      socket.destroy()
      return [status, Number(headers['retry-after'])] as const
    }
    const names = Array.from({ length: 60 }, (_, index) => `name-${index}`)
    const first = await Promise.all(names.map(open))
    const opened = names.filter((_, index) => first[index]?.[0] === 200)
    assert.ok(opened.length <= 20 && first.every(([status]) => status === 200 || status === 429), JSON.stringify(first))
    await sleep(1100)
    const later = await Promise.all(Array.from({ length: 15 }, (_, index) => open(`later-${index}`)))
    const opens = opened.length + later.filter(([status]) => status === 200).length
    assert.ok(opens <= 20, `${opens} new names`)
    // It says how long: longer than for tunnels.
    assert.ok(later.some(([status, seconds]) => status === 429 && seconds > 2))
    // One that has a certificate already is not new.
    assert.deepEqual((await open(opened[0] ?? ''))[0], 200)
  })

  test("takes another agent's key only for what that agent may call", async () => {
    const { upstream, service } = world
    const thief = await otherAgent(['thief.example.com'])
    const elsewhere = await world.connect(upstream.host, basic(thief.key))
    assert.equal(elsewhere.status, 403)
    // The placeholder of a grant that the key is not for: another agent's, or none at all.
    const socket = await world.tunnel({ credential: basic(key) })
    for (const grantId of [thief.grantId, 'grt_00000000000000000000000000']) {
      const headers = { host: upstream.host, authorization: `Bearer sp_grant_${grantId}`, connection: 'keep-alive' }
      const reply = await getOn(socket, { path: '/things', headers })
      assert.deepEqual([reply.status, reply.headers['x-sallyport-error']], [403, 'forbidden'])
    }
    for (const path of ['/v4/proxy', '/v4/agents/keys', '/v4/grants', '/v4/audit']) {
      const method = path === '/v4/proxy' ? 'POST' : 'GET'
      const body = { grant_id: thief.grantId, method: 'GET', url: `https://thief.example.com/` }
      const reply = await service.call(method, path, { token: thief.key, ...(method === 'POST' && { body }) })
      assert.equal(reply.status, 403, path)
    }
  })

  test('takes a key no longer than it lasts, also in tunnels that are open', async () => {
    const { service, upstream, agent } = world
    const own = await makeKey(world)
    const headers = { host: upstream.host, connection: 'keep-alive' }
    const socket = await world.tunnel({ credential: basic(own.key) })
    assert.equal((await getOn(socket, { path: '/things', headers })).status, 200)
    await service.call('DELETE', `/v4/agents/keys/${own.keyId}`, { token: agent.token })
    const late = await getOn(socket, { path: '/things', headers })
    assert.deepEqual([late.status, late.headers['x-sallyport-error']], [401, 'unauthenticated'])
    const closed = once(socket, 'close')
    await service.app.checkCallsInFlight()
    await soon(closed)
    assert.equal((await world.connect(upstream.host, basic(own.key))).status, 407)
    assert.equal((await world.connect(upstream.host, basic(agent.token))).status, 407)
    assert.equal((await world.connect(upstream.host, null)).status, 407)
  })

  test('ends streams of HTTP/1.1 and HTTP/2 with their grant', async () => {
    const { service, upstream } = world
    const own = await otherAgent([upstream.host])
    const credential = basic(own.key)
    const request = requestOn(await world.tunnel({ credential }), { path: '/begins', headers: { host: upstream.host } })
    request.end()
    const [response] = (await soon(once(request, 'response'))) as [NodeJS.ReadableStream]
    const session = await world.http2({ credential })
    const closed = once(session, 'close')
    const stream = session.request({ ':path': '/begins' })
    await soon(once(stream, 'response'))
    const cut = [assert.rejects(soon(text(response))), assert.rejects(soon(finished(stream.resume())))]
    await service.call('POST', `/v4/grants/${own.grantId}/revoke`, { token: own.agent.token })
    await service.app.checkCallsInFlight()
    await Promise.all(cut)
    await soon(closed)
    const outcomes = (await world.records()).filter(({ event }) => event === 'proxy.outcome').slice(-2)
    assert.deepEqual(
      outcomes.map(({ detail }) => [detail.outcome, detail.code]),
      [
        ['failed', 'grant_revoked'],
        ['failed', 'grant_revoked'],
      ],
    )
  })

  test('sends nothing to an API whose certificate is wrong', async (t) => {
    const { service, upstream, providerId } = world
    const ours = await sharedAuthority()
    const stranger = await createAuthority(temporaryFolder(t))
    const wrong = await Promise.all([
      ours.issue({ names: ['elsewhere.example'] }),
      ours.issue({ names: ['localhost'], expired: true }),
      stranger.issue({ names: ['localhost'] }),
    ])
    for (const certificate of wrong) {
      let requests = 0
      const { port } = await startTlsUpstream(t, certificate, () => requests++)
      const host = `localhost:${port}`
      const body = { api_hosts: [upstream.host, '*.example.com', host] }
      await service.call('PATCH', `/v4/providers/${providerId}`, { token: service.adminToken, body })
      const { key: own } = await otherAgent([host])
      const socket = await world.tunnel({ target: host, credential: basic(own) })
      const reply = await getOn(socket, { path: '/things', headers: { host } })
      assert.deepEqual([reply.status, reply.headers['x-sallyport-error']], [502, 'upstream_tls_error'])
      assert.equal(requests, 0)
    }
  })

  test('sent the credential to nobody but the API', () => {
    assert.ok(world.upstream.received.length > 0)
    assert.ok(world.upstream.received.every(({ headers }) => headers.authorization === `Bearer ${accessToken}`))
  })
})
