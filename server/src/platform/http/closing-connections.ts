/** How connections end: refused requests, idle clients, and the stop of the service. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PlatformConfig } from '../config/platform-settings.ts'
import { isContinueHeld } from './expect-continue.ts'
import type { Http } from './http.ts'

const lingerMs = 2_000

/**
 * Lingering close: a client that is still sending when it is refused would get a TCP reset instead of the response, so the
 * rest of its request is read for a short time. Sends the body, then keeps the response open until the request has ended.
 */
export async function* answerThenDrain(
  body: Iterable<Buffer> | AsyncIterable<Buffer>,
  readRest: () => Promise<unknown>,
): AsyncGenerator<Buffer> {
  yield* body
  const isRead = new AbortController()
  const rest = readRest().finally(() => {
    isRead.abort()
  })
  await Promise.race([rest, sleep(lingerMs, undefined, { signal: isRead.signal })]).catch(() => undefined)
}

export function readRestOf(request: IncomingMessage): Promise<void> {
  if (isContinueHeld(request)) return Promise.resolve()
  request.resume()
  return finished(request, { writable: false })
}

/** The same for a bare socket. */
export function answerThenClose(answer: string, socket: Duplex): void {
  socket.end(answer)
  socket.resume()
  const timer = setTimeout(() => {
    socket.destroy()
  }, lingerMs)
  socket.on('close', () => {
    clearTimeout(timer)
  })
}

type IdleConfig = Pick<PlatformConfig, 'connectionIdleSeconds' | 'unreadAnswerSeconds'>

/**
 * Closes idle connections: soon if the client does not read its response, which takes up memory, and later if the service
 * is still working on the request.
 */
export function closeIdleConnections(
  server: Server,
  config: IdleConfig,
  answerOn: (socket: Socket) => ServerResponse | undefined,
): void {
  const idleMs = config.connectionIdleSeconds * 1000
  const lookMs = Math.min(idleMs, config.unreadAnswerSeconds * 1000)
  /** Consecutive timeouts of a connection, and its byte count at that time. */
  const seen = new WeakMap<Socket, { bytes: number; times: number }>()
  server.setTimeout(lookMs)
  server.on('timeout', (socket: Socket) => {
    const answer = answerOn(socket)
    const bytes = socket.bytesRead + socket.bytesWritten
    const last = seen.get(socket)
    const times = last && last.bytes === bytes ? last.times + 1 : 1
    if (!answer || isUnsent(answer) || times * lookMs >= idleMs) {
      socket.destroy()
      return
    }
    seen.set(socket, { bytes, times })
    socket.setTimeout(lookMs)
  })
}

function isUnsent(answer: ServerResponse): boolean {
  const { writableLength, writableNeedDrain, writableEnded, writableFinished } = answer
  return writableLength > 0 || writableNeedDrain || (writableEnded && !writableFinished)
}

/** At a stop, calls in flight are answered with `connection: close`; all other connections are closed. */
export function closeConnectionsOnStop(http: Http): void {
  const unused = new Set<Socket>()
  const { server } = http
  let isStopping = false
  // Browsers preconnect, and Node doesn't count connections without a request as idle.
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    unused.add(socket)
    socket.on('close', () => unused.delete(socket))
  })
  for (const event of ['request', 'upgrade']) server.on(event, ({ socket }: IncomingMessage) => unused.delete(socket))
  http.addHook('onSend', (request, reply, _payload, done) => {
    // HTTP/2 has no such header, and Node would warn of it.
    if (request.raw.httpVersionMajor === 2) reply.removeHeader('connection')
    else if (isStopping || isContinueHeld(request.raw)) reply.header('connection', 'close')
    done()
  })
  http.addHook('preClose', async () => {
    isStopping = true
    if (!server.listening) return
    for (const socket of unused) socket.destroy()
    // A response that had started before the stop leaves its connection idle.
    const timer = setInterval(() => {
      server.closeIdleConnections()
    }, 100)
    server.on('close', () => {
      clearInterval(timer)
    })
  })
}
