/** Real TLS servers on loopback, with certificates of the test's own CA. */
import { once } from 'node:events'
import type { IncomingMessage, RequestListener } from 'node:http'
import { createSecureServer } from 'node:http2'
import type { IncomingHttpHeaders, SecureServerOptions, ServerHttp2Stream } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TestContext } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import type { Certificate } from './certificates.ts'

type Test = Pick<TestContext, 'after'>

export interface Listening {
  port: number
  /** The number of accepted TCP connections, used or not. */
  connections: () => number
  /** Resets every open connection, without a TLS close, like a machine that goes down. */
  reset: () => void
  /** Resolves once all connections are closed, and fails if one stays open. */
  allClosed: () => Promise<void>
}

export interface TlsUpstream extends Listening {
  /** The requests: method and path. */
  requests: string[]
}

export type AnswerHandshake = (request: IncomingMessage, socket: Duplex) => void

interface Where {
  /** Takes WebSocket handshakes. */
  onHandshake?: AnswerHandshake | undefined
  /** A loopback address other than 127.0.0.1. */
  address?: string
  port?: number
}

const hello: RequestListener = (_request, response) => {
  response.end('hello')
}

export async function startTlsUpstream(
  t: Test,
  tls: Certificate & SecureContextOptions,
  answer: RequestListener = hello,
  where: Where = {},
): Promise<TlsUpstream> {
  const requests: string[] = []
  const server = createServer(tls, (request, response) => {
    requests.push(`${request.method} ${request.url}`)
    answer(request, response)
  })
  const { onHandshake } = where
  if (onHandshake) {
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      requests.push(`${request.method} ${request.url}`)
      if (head.length > 0) socket.unshift(head)
      onHandshake(request, socket)
    })
  }
  return { requests, ...(await listen(t, server, where)) }
}

export type Http2Answer = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void

const helloOverHttp2: Http2Answer = (stream) => {
  stream.respond({ ':status': 200 })
  stream.end('hello')
}

/** HTTP/2 only. */
export async function startHttp2Upstream(
  t: Test,
  tls: Certificate & SecureServerOptions,
  answer: Http2Answer = helloOverHttp2,
): Promise<TlsUpstream> {
  const requests: string[] = []
  const server = createSecureServer(tls)
  server.on('stream', (stream, headers) => {
    requests.push(`${headers[':method']} ${headers[':path']}`)
    // Some tests disconnect on purpose.
    stream.on('error', () => undefined)
    answer(stream, headers)
  })
  server.on('sessionError', () => undefined)
  return { requests, ...(await listen(t, server)) }
}

/** For responses that no HTTP server would send. */
export function startRawTls(t: Test, certificate: Certificate, serve: (socket: TLSSocket) => void): Promise<Listening> {
  const server = createTlsServer(certificate, (socket) => {
    socket.on('error', () => undefined)
    serve(socket)
  })
  return listen(t, server)
}

/** Counts connections. Closes with the test, even if clients are still connected. */
export async function listen(
  t: Test,
  server: Server,
  { address = '127.0.0.1', port = 0 }: Where = {},
): Promise<Listening> {
  let connections = 0
  const standing = new Set<Socket>()
  server.on('connection', (socket) => {
    connections++
    standing.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => standing.delete(socket))
  })
  // Some tests disconnect during the TLS handshake on purpose.
  server.on('tlsClientError', () => undefined)
  server.listen(port, address)
  await once(server, 'listening')
  t.after(async () => {
    for (const socket of standing) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    reset: () => {
      for (const socket of standing) socket.resetAndDestroy()
    },
    allClosed: async () => {
      // Shorter than any timeout that would close it anyway.
      const signal = AbortSignal.timeout(5000)
      await Promise.all([...standing].map((socket) => once(socket, 'close', { signal })))
    },
  }
}
