/** Clients that disconnect at any byte of any request, on every port of the service: it keeps running. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { sharedAuthority } from '../server/testkit/certificates.ts'
import { freePort } from '../server/testkit/ports.ts'
import { commandLineIn } from './command-line.ts'
import { assertAnswers, clientHello, cutConnections, requestKinds } from './cut-connections.ts'
import type { CutOptions, Listener, SandboxAgent } from './cut-connections.ts'
import { succeeded } from './person.ts'
import { dataFolder, roomy, startService, within } from './running-service.ts'
import type { Environment, RunningService } from './running-service.ts'

const settings: Environment = {
  ...roomy,
  SALLYPORT_HEADERS_TIMEOUT_SECONDS: '1',
  SALLYPORT_REQUEST_TIMEOUT_SECONDS: '1',
}

async function startSandbox(service: RunningService): Promise<SandboxAgent> {
  const { token } = await service.register()
  const { body } = succeeded(await service.call('POST', '/v4/sandbox/start', { token }))
  return { token, grantId: (body as { grant_id: string }).grant_id }
}

async function cutAll(
  t: TestContext,
  service: RunningService,
  listeners: Listener[],
  options: Partial<CutOptions> = {},
): Promise<number> {
  const agent = await startSandbox(service)
  const requests = (listener: Listener) => requestKinds(listener, agent)
  const began = performance.now()
  const count = await cutConnections(listeners, { requests, ...options })
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  const { every = 1, from = 0 } = options
  t.diagnostic(`${count} connections in ${seconds} s; of every ${every} places number ${from + 1}`)
  assert.doesNotMatch(service.log, /a worker ended|uncaught|unhandled/i)
  return count
}

/** Every byte would take too long, so each run tries other ones; `npm run endurance -- --cuts` tries all. */
function eachOf(every: number): Partial<CutOptions> {
  if (process.env['TEST_LONG_FORM'] === '1') return {}
  return { every, from: Math.floor(Math.random() * every) }
}

function listenersOf({ port }: RunningService, metricsPort: number): Listener[] {
  const main = { port, tls: false, path: '/healthz' }
  return [
    { ...main, name: 'the main port', address: '127.0.0.1' },
    { ...main, name: "localhost's other address", address: '::1' },
    { name: 'the metrics port', port: metricsPort, address: '127.0.0.1', tls: false, path: '/metrics' },
  ]
}

test('a client that disconnects at any byte does not crash the service', async (t) => {
  const metricsPort = await freePort()
  const service = await startService(t, 'sqlite', { ...settings, SALLYPORT_METRICS_PORT: String(metricsPort) })
  const listeners = listenersOf(service, metricsPort)
  assert.ok((await cutAll(t, service, listeners, eachOf(11))) > 2_500)
  for (const listener of listeners) await assertAnswers(listener, 'everything')
})

test('a client that disconnects does not crash a service with TLS', async (t) => {
  const folder = dataFolder(t)
  const authority = await sharedAuthority()
  const { cert, key } = await authority.issue({ names: ['localhost'] })
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
  writeFileSync(files.cert, cert + authority.caPem)
  writeFileSync(files.key, key)
  const service = await startService(t, 'sqlite', {
    ...settings,
    SALLYPORT_TLS_CERT_FILE: files.cert,
    SALLYPORT_TLS_KEY_FILE: files.key,
  })
  const unencrypted = listenersOf(service, 0).slice(0, 2)
  const listeners = unencrypted.map((listener) => ({ ...listener, tls: true }))
  await cutAll(t, service, listeners, eachOf(31))
  const hello = await clientHello()
  await cutAll(t, service, unencrypted, { requests: () => ({ 'TLS hello': hello }), answers: false, ...eachOf(7) })
  for (const listener of listeners) await assertAnswers(listener, 'everything')
})

test('a client that disconnects does not crash a worker', async (t) => {
  const metricsPort = await freePort()
  const service = await startService(t, 'sqlite', {
    ...settings,
    SALLYPORT_WORKERS: '2',
    SALLYPORT_METRICS_PORT: String(metricsPort),
  })
  const listeners = listenersOf(service, metricsPort)
  await cutAll(t, service, listeners, eachOf(23))
  for (const listener of listeners) await assertAnswers(listener, 'everything')
})

/** What a client of the MCP server sends, in a session and without one. */
function mcpKinds({ port }: Listener, token: string, session: string): Record<string, string> {
  const head = `Host: localhost:${port}\r\nAuthorization: Bearer ${token}\r\nAccept: application/json, text/event-stream\r\n`
  const post = (message: object, more = '') => {
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })
    const length = `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n`
    return `POST /mcp HTTP/1.1\r\n${head}${more}${length}\r\n${text}`
  }
  const inSession = `Mcp-Session-Id: ${session}\r\n`
  const clientInfo = { name: 'raw', version: '1' }
  return {
    initialize: post({ method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } }),
    'call of a tool': post({ method: 'tools/call', params: { name: 'list_providers', arguments: {} } }, inSession),
    'stream of events': `GET /mcp HTTP/1.1\r\n${head}${inSession}\r\n`,
    'body in chunks': `POST /mcp HTTP/1.1\r\n${head}${inSession}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  }
}

test('a client that disconnects does not crash the MCP server', async (t) => {
  const service = await startService(t, 'sqlite', settings)
  const cli = commandLineIn(dataFolder(t), { SALLYPORT_URL: `http://localhost:${service.port}` })
  t.after(cli.stop)
  assert.equal((await cli.run(['register', 'An agent'])).code, 0)
  const server = cli.start(['mcp', '--http', '--port', '0'])
  const { href, port } = new URL(/http:\S+/.exec(await server.until(/Ctrl-C/))?.[0] ?? '')
  const token = readFileSync(join(cli.home, '.config/sallyport/mcp-token'), 'utf8').trim()
  const listener = { ...{ name: 'the MCP server', port: Number(port), address: '127.0.0.1' as const, tls: false } }
  const listeners = [{ ...listener, path: '/mcp', status: 401 }]
  const initialize = async () => {
    const [, body] = mcpKinds(listeners[0] as Listener, token, '')['initialize']?.split('\r\n\r\n') ?? []
    const headers = {
      ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      accept: 'application/json, text/event-stream',
    }
    const answer = await fetch(href, { method: 'POST', headers, body: body ?? '' })
    assert.equal(answer.status, 200)
    await answer.text()
    return answer.headers.get('mcp-session-id') ?? ''
  }
  const session = await initialize()
  const agent = await startSandbox(service)
  const requests = (one: Listener) => ({ ...requestKinds(one, agent), ...mcpKinds(one, token, session) })
  const count = await cutConnections(listeners, { requests, ...eachOf(11) })
  assert.ok(count > 1_000, `${count}`)
  await initialize()
  assert.doesNotMatch(server.seen(), /uncaught|unhandled|Error:/i)
  server.signal('SIGINT')
  assert.equal((await server.ended).code, 0)
})

const limitFile = '/proc/sys/net/core/somaxconn'
const heldBySystem = existsSync(limitFile) ? Number(readFileSync(limitFile, 'utf8')) : 0

test(
  'clients that connect while the service is busy are queued, not refused',
  { skip: heldBySystem < 2048 && `this system keeps no more than ${heldBySystem} connections` },
  async (t) => {
    const metricsPort = await freePort()
    const service = await startService(t, 'sqlite', { SALLYPORT_METRICS_PORT: String(metricsPort) })
    service.signal('SIGSTOP')
    for (const { port, address, name } of listenersOf(service, metricsPort)) {
      const sockets = Array.from({ length: 1000 }, () => connect({ port, host: address }))
      t.after(() => {
        for (const socket of sockets) socket.destroy()
      })
      const connected = Promise.all(sockets.map((socket) => once(socket, 'connect')))
      await within(connected, `${name} keeps fewer than a thousand`)
    }
    service.signal('SIGCONT')
    for (const listener of listenersOf(service, metricsPort)) await assertAnswers(listener, 'the wait')
  },
)
