/** Clients that break off at any byte of any request, on every port of the service: it stays up and answers. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { Duplex } from 'node:stream'
import { after, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { sharedAuthority } from '../server/testkit/certificates.ts'
import { freePort } from '../server/testkit/ports.ts'
import { dataFolder, startService, within } from './running-service.ts'
import type { Environment, RunningService } from './running-service.ts'

interface Listener {
  name: string
  port: number
  address: '127.0.0.1' | '::1'
  tls: boolean
  /** A path that is answered with 200. */
  path: string
}

/** What is under TLS is what a reset has to hit. */
interface Connection {
  socket: Socket
  underneath: Socket
}

const opened = new Set<Socket>()
after(() => {
  for (const socket of opened) socket.destroy()
})

async function open({ port, address, tls }: Listener): Promise<Connection> {
  const underneath = connect({ port, host: address, allowHalfOpen: true }).on('error', () => undefined)
  opened.add(underneath)
  await within(once(underneath, 'connect'), 'no connection')
  if (!tls) return { socket: underneath, underneath }
  // Through a stream of its own: a socket that TLS has taken over can't be reset.
  const through = Duplex.from({ readable: underneath, writable: underneath }).on('error', () => undefined)
  const socket = connectTls({ socket: through, rejectUnauthorized: false }).on('error', () => undefined)
  opened.add(socket)
  await within(once(socket, 'secureConnect'), 'no TLS connection')
  return { socket, underneath }
}

function requests({ port, path }: Listener): Record<string, string> {
  const host = `Host: localhost:${port}\r\n`
  const json = 'Content-Type: application/json\r\n'
  const body = '{"name":"a"}'
  const length = `Content-Length: ${body.length}\r\n`
  const register = `POST /v4/agents/register HTTP/1.1\r\n${host}${json}`
  const get = `GET ${path} HTTP/1.1\r\n${host}\r\n`
  return {
    get,
    'with a length': `${register}${length}\r\n${body}`,
    chunked: `${register}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    connect: `CONNECT api.github.com:443 HTTP/1.1\r\nHost: api.github.com:443\r\n\r\n\x16\x03\x01\x02\x00`,
    websocket: `GET ${path} HTTP/1.1\r\n${host}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x00`,
    h2c: `GET ${path} HTTP/1.1\r\n${host}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAM\r\n\r\n`,
    'http/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00',
    'no http': '\x16\x03\x01\x00\xa5\x01\x00\r\n\r\n\x00\x01GET / HTTP/1.1\r\n\r\n',
    'broken header': `GET ${path} HTTP/1.1\r\n${host}Bad Name: x\r\n\r\n`,
    'too many headers': `GET ${path} HTTP/1.1\r\n${host}${`X: ${'x'.repeat(1000)}\r\n`.repeat(20)}\r\n`,
    pipelined: get.repeat(3) + `${register}${length}\r\n${body}` + get,
    'http/1.0': `GET ${path} HTTP/1.0\r\n${host}\r\n`,
    'http/1.0 chunked': `POST /v4/proxy HTTP/1.0\r\n${host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'expect 100': `${register}${length}Expect: 100-continue\r\n\r\n${body}`,
    'unknown expectation': `${register}${length}Expect: tea\r\n\r\n${body}`,
  }
}

/** What a client does once so much of its request is sent. */
const endings: Record<string, (connection: Connection) => unknown> = {
  reset: ({ underneath }) => underneath.resetAndDestroy(),
  'reset once answered': ({ socket, underneath }) => {
    socket.once('data', () => underneath.resetAndDestroy())
    socket.once('end', () => underneath.resetAndDestroy())
  },
  'half-close': ({ socket }) => socket.resume().end(),
  'half-close and reset': async ({ socket, underneath }) => {
    socket.end()
    await new Promise(setImmediate)
    underneath.resetAndDestroy()
  },
  stall: () => undefined,
}

/** All offsets of what is short, and of what is long its ends and some between. */
function offsets(length: number, most: number): number[] {
  if (length <= most) return Array.from({ length: length + 1 }, (_, at) => at)
  const spread = Array.from({ length: most }, (_, index) => Math.round((index * length) / (most - 1)))
  return [...new Set([...spread, 1, length - 1])]
}

async function breakOff(listener: Listener, text: string, offset: number, ending: string): Promise<Connection> {
  const connection = await open(listener)
  const { socket } = connection
  if (offset > 0) await new Promise((sent) => socket.write(text.slice(0, offset), 'latin1', sent))
  await endings[ending]?.(connection)
  return connection
}

async function assertAnswers(listener: Listener, after: string): Promise<void> {
  const { socket, underneath } = await open(listener).catch(() =>
    assert.fail(`${listener.name} is gone after ${after}`),
  )
  socket.write(`GET ${listener.path} HTTP/1.1\r\nHost: localhost:${listener.port}\r\n\r\n`)
  const [answer] = (await within(once(socket, 'data'), `${listener.name}: no answer after ${after}`)) as [Buffer]
  assert.match(answer.toString('latin1'), /^HTTP\/1\.1 200 /, `${listener.name}, ${after}`)
  underneath.destroy()
}

/** Returns how many connections broke off. `answers`: another client is answered meanwhile, at the same port. */
async function fuzz(listeners: Listener[], mostOffsets: number, answers = true): Promise<number> {
  let count = 0
  for (const listener of listeners) {
    for (const [kind, text] of Object.entries(requests(listener))) {
      for (const ending of Object.keys(endings)) {
        const cuts = offsets(text.length, mostOffsets).map((offset) => breakOff(listener, text, offset, ending))
        count += (await Promise.allSettled(cuts)).length
      }
      if (answers) await assertAnswers(listener, kind)
    }
  }
  return count
}

async function assertUnharmed(service: RunningService, listeners: Listener[]): Promise<void> {
  for (const listener of listeners) await assertAnswers(listener, 'everything')
  assert.doesNotMatch(service.log, /a worker ended|uncaught|unhandled/i)
}

const timeouts: Environment = {
  SALLYPORT_HEADERS_TIMEOUT_SECONDS: '1',
  SALLYPORT_REQUEST_TIMEOUT_SECONDS: '1',
  SALLYPORT_REGISTRATIONS_PER_MINUTE: '1000000',
}

function listenersOf({ port }: RunningService, metricsPort: number, tls = false): Listener[] {
  const main = { port, tls, path: '/healthz' }
  return [
    { ...main, name: 'the main port', address: '127.0.0.1' },
    { ...main, name: "localhost's other address", address: '::1' },
    { name: 'the metrics port', port: metricsPort, address: '127.0.0.1', tls: false, path: '/metrics' },
  ]
}

test('a client that breaks off at any byte does not end the service', async (t) => {
  const metricsPort = await freePort()
  const service = await startService(t, 'sqlite', { ...timeouts, SALLYPORT_METRICS_PORT: String(metricsPort) })
  const listeners = listenersOf(service, metricsPort)
  assert.ok((await fuzz(listeners, 24)) > 3_000)
  await assertUnharmed(service, listeners)
})

test('a client that breaks off does not end a service that speaks TLS', async (t) => {
  const folder = dataFolder(t)
  const { cert, key } = await (await sharedAuthority()).issue({ names: ['localhost'] })
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
  writeFileSync(files.cert, cert)
  writeFileSync(files.key, key)
  const service = await startService(t, 'sqlite', {
    ...timeouts,
    SALLYPORT_TLS_CERT_FILE: files.cert,
    SALLYPORT_TLS_KEY_FILE: files.key,
  })
  const listeners = listenersOf(service, 0, true).filter(({ tls }) => tls)
  await fuzz(listeners, 2)
  // The handshake breaks off as well: these bytes are none.
  await fuzz(
    listeners.map((listener) => ({ ...listener, tls: false })),
    2,
    false,
  )
  await assertUnharmed(service, listeners)
})

test('a client that breaks off ends no worker', async (t) => {
  const metricsPort = await freePort()
  const service = await startService(t, 'sqlite', {
    ...timeouts,
    SALLYPORT_WORKERS: '2',
    SALLYPORT_METRICS_PORT: String(metricsPort),
  })
  const listeners = listenersOf(service, metricsPort)
  await fuzz(listeners, 3)
  await assertUnharmed(service, listeners)
})
