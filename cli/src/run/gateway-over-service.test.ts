/** The gateway through the service's own port, for a machine that its port is closed to. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { soon } from '../../../server/testkit/calling.ts'
import { getOn, getOver, startGateway } from '../../../server/testkit/gateway.ts'
import type { TestGateway } from '../../../server/testkit/gateway.ts'
import { freePort } from '../../../server/testkit/ports.ts'
import { makeKey } from '../../../server/testkit/tool-calling.ts'
import { dialOverService } from './gateway-over-service.ts'
import { openThroughGateway, reachGateway } from './gateway.ts'
import type { Gateway } from './gateway.ts'
import { parseTarget } from './target.ts'

const large = 'x'.repeat(3_000_000)

describe('the gateway over the port of the service', () => {
  const endings: (() => unknown)[] = []
  let world: TestGateway
  let base: string
  let closed: Gateway

  before(async () => {
    const scope = { after: (ending: () => unknown) => endings.push(ending) } as Parameters<typeof startGateway>[0]
    const port = await freePort()
    world = await startGateway(scope, 'sqlite', {
      settings: { SALLYPORT_BASE_URL: `http://localhost:${port}` },
      answer: (response, { body }) => response.setHeader('content-type', 'text/plain').end(body || 'done'),
      terms: { allowedMethods: null },
    })
    const { http } = world.service.app
    await http.listen({ host: '127.0.0.1', port })
    base = `http://localhost:${(http.server.address() as AddressInfo).port}`
    closed = { host: '127.0.0.1', port: await freePort(), tls: false, key: () => world.key }
  })
  after(async () => {
    for (const ending of endings) await ending()
  })

  async function open(gateway: Gateway, protocol = 'http/1.1'): Promise<TLSSocket> {
    const target = parseTarget(world.upstream.host)
    assert.ok(target)
    const socket: Duplex = await soon(openThroughGateway(gateway, target))
    const secured = connectTls({ socket, servername: 'localhost', ca: world.authority, ALPNProtocols: [protocol] })
    await soon(once(secured, 'secureConnect'))
    return secured.on('error', () => undefined)
  }

  test('carries calls of HTTP/1.1 and HTTP/2, large ones too', async () => {
    const said: string[] = []
    const gateway = await reachGateway(closed, base, (line) => said.push(line))
    assert.match(said.join(), new RegExp(`can't be reached \\(ECONNREFUSED\\): connections go through ${base}$`))
    const headers = { host: world.upstream.host, 'content-type': 'text/plain' }
    const secured = await open(gateway)
    const reply = await soon(getOn(secured, { method: 'POST', path: '/things', headers }, large))
    assert.deepEqual([reply.status, reply.body.length], [200, large.length])
    secured.destroy()
    const overHttp2 = await open(gateway, 'h2')
    const session = connectHttp2(`https://${world.upstream.host}`, {
      createConnection: () => overHttp2,
    })
    const replies = await soon(Promise.all(['/a', '/b'].map((path) => getOver(session, { ':path': path }))))
    assert.deepEqual(
      replies.map(({ status, body }) => [status, body]),
      [
        [200, 'done'],
        [200, 'done'],
      ],
    )
    session.destroy()
    const attempts = (await world.records()).filter(({ event }) => event === 'proxy.attempt')
    assert.deepEqual(
      attempts.map(({ detail }) => detail.door),
      ['gateway', 'gateway', 'gateway'],
    )
  })

  test('is used only where the port is closed', async () => {
    const said: string[] = []
    const there = { ...closed, port: world.port }
    assert.equal(await reachGateway(there, base, (line) => said.push(line)), there)
    assert.deepEqual(said, [])
  })

  test('is refused without a key, and for what is no handshake', async () => {
    const { service, agent, key } = world
    for (const token of ['sp_key_wrong', agent.token]) {
      await assert.rejects(soon(dialOverService(base, token)), /HTTP 40[13]/)
    }
    const plain = await service.call('GET', '/v4/gateway/tunnel', { token: key })
    assert.deepEqual([plain.status, plain.body.error.code], [400, 'invalid_http'])
    await assert.rejects(
      reachGateway({ ...closed, key: () => 'sp_key_wrong' }, base, () => undefined),
      {
        code: 'gateway_unreachable',
      },
    )
  })

  test('ends with its key', async () => {
    const { service, agent } = world
    const own = await makeKey(world)
    const secured = await open({ ...closed, overService: base, key: () => own.key })
    const ended = once(secured.resume(), 'close')
    await service.call('DELETE', `/v4/agents/keys/${own.keyId}`, { token: agent.token })
    await service.app.checkCallsInFlight()
    await soon(ended)
    await assert.rejects(soon(dialOverService(base, own.key)), /HTTP 401/)
  })
})
