/** Everything is paused at once: calls in progress on two processes end, and none goes out until the pause is lifted. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { request as tlsRequest } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { sharedAuthority } from '../server/testkit/certificates.ts'
import { freePort } from '../server/testkit/ports.ts'
import { startTlsUpstream } from '../server/testkit/tls-upstream.ts'
import { agree, shakeHands } from '../server/testkit/websocket.ts'
import { startCalling } from './calling.ts'
import { succeeded } from './person.ts'
import { eventually, startService, within } from './running-service.ts'
import type { Engine, RunningService } from './running-service.ts'
import { logLines, pidOf } from './workers.ts'

/** Never ends a call itself, except under /quick. Knows what it has received, and which of it goes on. */
async function startUpstream(t: TestContext) {
  const certificate = await (await sharedAuthority()).issue({ names: ['localhost'], addresses: ['127.0.0.1'] })
  const goingOn = new Set<ServerResponse | Duplex>()
  const stays = (call: ServerResponse | Duplex) => {
    goingOn.add(call)
    call.on('close', () => goingOn.delete(call))
  }
  const { port, requests } = await startTlsUpstream(
    t,
    certificate,
    ({ url }, response) => {
      if (url === '/quick') response.end('done')
      else if (url === '/moved') response.writeHead(302, { location: '/hangs' }).end()
      else stays(response)
      if (url === '/begins') response.write('the first of it')
    },
    {
      onHandshake: (request, socket) => {
        stays(socket)
        agree(request, socket)
      },
    },
  )
  return { host: `localhost:${port}`, goingOn, requests }
}

/** Two processes on one database: two instances on PostgreSQL, two workers on SQLite. */
async function startTwo(t: TestContext, engine: Engine, hosts: string[]) {
  const workers = engine === 'sqlite' ? { SALLYPORT_WORKERS: '2' } : {}
  // A tunnel may wait that long for its first request, on a slow machine too.
  const patient = { SALLYPORT_HEADERS_TIMEOUT_SECONDS: '60', SALLYPORT_REQUEST_TIMEOUT_SECONDS: '60' }
  const settings = { SALLYPORT_GATEWAY_PORT: String(await freePort()), ...patient, ...workers }
  const calling = await startCalling(t, engine, { hosts, settings })
  const { service, agent } = calling
  const other =
    engine === 'sqlite'
      ? service
      : await startService(t, engine, {
          ...service.env,
          PORT: String(await freePort()),
          SALLYPORT_GATEWAY_PORT: String(await freePort()),
          SALLYPORT_BASE_URL: `http://localhost:${service.port}`,
        })
  const body = { grant_ids: [calling.grantId] }
  const made = succeeded(await service.call('POST', '/v4/agents/keys', { token: agent.token, body }))
  const authority = (await service.call('GET', '/v4/gateway/ca.pem')).text
  return { ...calling, processes: [service, other], key: made.body.key as string, authority }
}

type Two = Awaited<ReturnType<typeof startTwo>>

async function askForTunnel({ env }: RunningService, { key }: Two, host: string) {
  const credential = `Basic ${Buffer.from(`sallyport:${key}`).toString('base64')}`
  const request = httpRequest({
    ...{ host: '127.0.0.1', port: env['SALLYPORT_GATEWAY_PORT'], method: 'CONNECT', path: host },
    headers: { host, 'proxy-authorization': credential },
  })
  const [{ statusCode, headers }, socket] = (await once(request.end(), 'connect')) as [IncomingMessage, Socket]
  return { socket, refusal: statusCode === 200 ? undefined : headers['x-sallyport-error'] }
}

async function openTunnel(service: RunningService, two: Two, host: string): Promise<TLSSocket> {
  const { socket, refusal } = await askForTunnel(service, two, host)
  assert.equal(refusal, undefined)
  const tls = connectTls({ socket, servername: 'localhost', ca: two.authority, ALPNProtocols: ['http/1.1'] })
  await once(tls, 'secureConnect')
  return tls
}

/** The code of the refusal or the status, whichever the caller sees; 'cut' if the response was cut off. */
async function callInTunnel(tunnel: TLSSocket, host: string, path: string): Promise<unknown> {
  const request = tlsRequest({ createConnection: () => tunnel, path, headers: { host } })
  try {
    const [response] = (await once(request.end(), 'response')) as [IncomingMessage]
    response.resume()
    return response.headers['x-sallyport-error'] ?? response.statusCode
  } catch {
    return 'cut'
  }
}

const cases = [
  { engine: 'postgres', by: 'the person' },
  { engine: 'sqlite', by: 'the operator' },
] as const

for (const { engine, by } of cases) {
  describe(`a pause by ${by}, with ${engine}`, () => {
    test('ends 50 calls on two processes, and nothing goes out until it is lifted', async (t) => {
      const { host, goingOn, requests } = await startUpstream(t)
      const two = await startTwo(t, engine, [host])
      const { service, agent, grantId, processes } = two
      const post = async (index: number, path: string, more: object = {}) => {
        const body = { grant_id: grantId, method: 'GET', url: `https://${host}${path}`, ...more }
        // What a service on another port than its base URL is called by.
        const headers = { host: `localhost:${service.port}` }
        const called = processes[index % 2]?.call('POST', '/v4/proxy', { token: agent.token, body, headers })
        return called?.then(
          ({ status, body: reply }) => (reply.error?.code ?? status) as unknown,
          () => 'cut',
        )
      }
      const tunnelTo = (index: number) => openTunnel(processes[index % 2] ?? service, two, host)
      const chat = async (index: number) => {
        const { status, peer } = await shakeHands(await tunnelTo(index), { host, path: '/chat' })
        assert.equal(status, 101)
        const ends = async () => {
          while (await peer.next());
          return 'cut'
        }
        return { end: ends() }
      }
      const idle = await Promise.all([0, 1].map(tunnelTo))

      const many = (count: number) => Array.from({ length: count }, (_, index) => index)
      const whole = many(20).map((index) => post(index, '/hangs', { timeout_ms: 300_000 }))
      const moved = many(10).map((index) =>
        post(index, '/moved', { follow_redirects: true, stream: true, timeout_ms: 300_000 }),
      )
      const streams = many(10).map((index) => post(index, '/begins', { stream: true }))
      const inTunnels = many(5).map(async (index) => callInTunnel(await tunnelTo(index), host, '/hangs'))
      const chats = await Promise.all(many(5).map(chat))
      await eventually(() => goingOn.size === 50, 'not all calls reached the upstream')
      assert.equal(await post(0, '/quick'), 200)
      assert.equal(await post(1, '/quick'), 200)

      const token = by === 'the operator' ? service.adminToken : two.personToken
      succeeded(await service.call('PUT', '/v4/pause', { token, body: {} }))
      // Begun after the pause was answered: by every door, on connections that are open and on new ones.
      const received = requests.length
      const doors = [
        ...many(20).map((index) => post(index, '/quick')),
        ...idle.map((tunnel) => callInTunnel(tunnel, host, '/quick')),
        ...processes.map(async (one) => (await askForTunnel(one, two, host)).refusal),
      ]
      // A kept connection may be closed while it is used. Whatever its caller sees: nothing goes out.
      const refused = new Set(await Promise.all(doors))
      refused.delete('cut')
      assert.deepEqual(refused, new Set(['paused']))

      const ends = async (calls: readonly unknown[]) => new Set(await within(Promise.all(calls), 'a call goes on'))
      assert.deepEqual(await ends([...whole, ...moved, ...inTunnels]), new Set(['paused']))
      assert.deepEqual(await ends([...streams, ...chats.map(({ end }) => end)]), new Set(['cut']))
      await eventually(() => goingOn.size === 0, 'a request to the upstream goes on')
      assert.equal(requests.length, received, 'something went out')
      const tookCalls = processes.flatMap(logLines).filter(({ grant_id }) => grant_id === grantId)
      assert.equal(new Set(tookCalls.map(pidOf)).size, 2, 'one process had all calls')

      succeeded(await service.call('DELETE', '/v4/pause', { token }))
      assert.deepEqual(await Promise.all([0, 1].map((index) => post(index, '/quick'))), [200, 200])
    })
  })
}
