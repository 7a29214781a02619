/** Opens connections to a listener of the service, sends part of a request on each, and then cuts or abandons them. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { within } from './running-service.ts'

export interface Listener {
  name: string
  port: number
  address: '127.0.0.1' | '::1'
  tls: boolean
  /** A path that is answered with 200, or with this status. */
  path: string
  status?: number
}

/** `underneath` is the TCP socket of a TLS connection: a reset has to be sent there. */
interface Connection {
  socket: Socket
  underneath: Socket
}

/** What an agent needs for calls to the sandbox. */
export interface SandboxAgent {
  token: string
  grantId: string
}

const maxHeaderBytes = 16_384
/** Connections that are opened at the same time. */
const atOnce = 64

async function open({ port, address, tls }: Listener): Promise<Connection> {
  const underneath = connect({ port, host: address, allowHalfOpen: true }).on('error', () => undefined)
  await once(underneath, 'connect')
  if (!tls) return { socket: underneath, underneath }
  // Through a stream of its own: a socket that TLS has taken over can't be reset.
  const through = Duplex.from({ readable: underneath, writable: underneath }).on('error', () => undefined)
  const socket = connectTls({ socket: through, rejectUnauthorized: false }).on('error', () => undefined)
  await once(socket, 'secureConnect')
  return { socket, underneath }
}

/** The first bytes of a TLS client. */
export async function clientHello(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const wire = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer) => {
      resolve(chunk.toString('latin1'))
    },
  })
  // A short one: the keys of newer curves take a thousand bytes more.
  const client = connectTls({ socket: wire, servername: 'localhost', ecdhCurve: 'prime256v1' }).on(
    'error',
    () => undefined,
  )
  const hello = await promise
  client.destroy()
  return hello
}

/** Every kind of request, as short as it can be: each byte of them is one more place to cut. */
export function requestKinds({ port, path }: Listener, { token, grantId }: SandboxAgent): Record<string, string> {
  const host = `Host: localhost:${port}\r\n`
  const json = 'Content-Type: application/json\r\n'
  const lengthOf = (body: string) => `Content-Length: ${body.length}\r\n`
  const body = '{"name":"a"}'
  const register = `POST /v4/agents/register HTTP/1.1\r\n${host}${json}`
  const get = `GET ${path} HTTP/1.1\r\n${host}\r\n`
  const authorization = `Authorization: Bearer ${token}\r\n`
  const call = (more: object) => {
    const url = `http://localhost:${port}/v4/sandbox/echo`
    const text = JSON.stringify({ grant_id: grantId, method: 'GET', url, ...more })
    return `POST /v4/proxy HTTP/1.1\r\n${host}${authorization}${json}${lengthOf(text)}\r\n${text}`
  }
  return {
    get,
    'with a length': `${register}${lengthOf(body)}\r\n${body}`,
    chunked: `${register}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    connect: `CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n\x16\x03\x01\x02\x00`,
    websocket: `GET ${path} HTTP/1.1\r\n${host}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x00`,
    h2c: `GET ${path} HTTP/1.1\r\n${host}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAM\r\n\r\n`,
    'http/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00',
    'TLS hello': '\x16\x03\x01\x00\xa5\x01\x00',
    'no http': '\r\n\r\n\x00\x01GET / HTTP/1.1\r\n\r\n',
    'broken header': `GET ${path} HTTP/1.1\r\n${host}Bad Name: x\r\n\r\n`,
    'headers too large': `GET ${path} HTTP/1.1\r\n${host}X: ${'x'.repeat(maxHeaderBytes)}\r\n\r\n`,
    pipelined: get.repeat(2) + `${register}${lengthOf(body)}\r\n${body}` + get,
    'http/1.0': `GET ${path} HTTP/1.0\r\n${host}\r\n`,
    'http/1.0 chunked': `POST /v4/proxy HTTP/1.0\r\n${host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'expect 100': `${register}${lengthOf(body)}Expect: 100-continue\r\n\r\n${body}`,
    'unknown expectation': `${register}${lengthOf(body)}Expect: tea\r\n\r\n${body}`,
    'two lengths': `${register}Content-Length: 1\r\n${lengthOf(body)}\r\n${body}`,
    'proxied call': call({}),
    'streamed call': call({ stream: true }),
    events: `GET /v4/events HTTP/1.1\r\n${host}${authorization}\r\n`,
  }
}

/** What a client does once it has sent its part of a request. */
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

/** Every byte, except deep inside a long run of one character, where the next byte is like the last. */
function offsetsIn(text: string): number[] {
  const near = 16
  const isDistinct = (at: number) =>
    Math.abs(at - maxHeaderBytes) <= near ||
    new Set(text.slice(Math.max(0, at - near), at + near)).size > 1 ||
    text.length < 2 * near
  return Array.from({ length: text.length + 1 }, (_, at) => at).filter(isDistinct)
}

export interface CutOptions {
  /** What is cut at a listener: the bytes of each kind. */
  requests: (listener: Listener) => Record<string, string>
  /** Only one of so many places, a place being a byte and a way to break off. No multiple of the number of ways. */
  every?: number
  /** Which of them: below `every`. */
  from?: number
  /** Whether another client's request at the same listener is answered after each kind. */
  answers?: boolean
}

/**
 * Cuts each kind of request at every byte and in every way. All stalled connections stay open at the same time until
 * everything else is done. Returns the number of connections that were cut or stalled.
 */
export async function cutConnections(
  listeners: Listener[],
  { requests, every = 1, from = 0, answers = true }: CutOptions,
): Promise<number> {
  const opened = new Set<Socket>()
  let count = 0
  const cut = async (listener: Listener, text: string, offset: number, end: (connection: Connection) => unknown) => {
    const connection = await open(listener)
    const { socket, underneath } = connection
    for (const one of [socket, underneath]) opened.add(one)
    underneath.once('close', () => {
      opened.delete(socket)
      opened.delete(underneath)
    })
    count++
    if (offset > 0) await new Promise((sent) => socket.write(text.slice(0, offset), 'latin1', sent))
    await end(connection)
  }
  for (const listener of listeners) {
    for (const [kind, text] of Object.entries(requests(listener))) {
      const places = offsetsIn(text).flatMap((offset) => Object.values(endings).map((end) => ({ offset, end })))
      const wanted = places.filter((_, index) => index % every === from % every)
      // A listener that has just cut a client off may refuse or reset the next: what counts is that it still answers.
      await each(wanted, ({ offset, end }) => cut(listener, text, offset, end).catch(() => undefined))
      if (answers) await assertAnswers(listener, kind)
    }
  }
  for (const socket of opened) socket.destroy()
  return count
}

/** A few of the jobs at a time. */
async function each<T>(jobs: T[], work: (job: T) => Promise<void>): Promise<void> {
  const left = jobs.values()
  const worker = async () => {
    for (const job of left) await work(job)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

/** A slow machine may send a request after the second that it has for that: then another one is tried. */
const mostAttempts = 5

export async function assertAnswers(listener: Listener, after: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const head = await headOfAnswer(listener, after)
    if (head.startsWith('HTTP/1.1 408 ') && attempt < mostAttempts) continue
    assert.ok(head.startsWith(`HTTP/1.1 ${listener.status ?? 200} `), `${listener.name}, ${after}: ${head}`)
    return
  }
}

async function headOfAnswer(listener: Listener, after: string): Promise<string> {
  const isGone = () => assert.fail(`${listener.name} is gone after ${after}`)
  const { socket, underneath } = await open(listener).catch(isGone)
  socket.write(`GET ${listener.path} HTTP/1.1\r\nHost: localhost:${listener.port}\r\n\r\n`)
  const answered = once(socket, 'data').catch(isGone)
  const [answer] = (await within(answered, `${listener.name}: no answer after ${after}`)) as [Buffer]
  underneath.destroy()
  return answer.toString('latin1').slice(0, 40)
}
