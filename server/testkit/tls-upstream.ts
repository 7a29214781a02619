/** Real TLS servers on loopback, with certificates of a test's own authority. */
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createSecureServer } from 'node:http2'
import type { IncomingHttpHeaders, SecureServerOptions, ServerHttp2Stream } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import type { Certificate } from './certificates.ts'

type Test = Pick<TestContext, 'after'>

export interface Listening {
  port: number
  /** How many TCP connections came, whether or not anything followed. */
  connections: () => number
  /** Breaks every connection that stands, as a machine that goes down does: by a reset, without a word of TLS. */
  reset: () => void
  /** Resolves once none of them stands any more, and fails where one stays. */
  allClosed: () => Promise<void>
}

export interface TlsUpstream extends Listening {
  /** What was asked for: method and path. */
  requests: string[]
}

interface Where {
  /** Another address of loopback than 127.0.0.1. */
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
  return { requests, ...(await listen(t, server, where)) }
}

export type Http2Answer = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void

const helloOverHttp2: Http2Answer = (stream) => {
  stream.respond({ ':status': 200 })
  stream.end('hello')
}

/** Speaks HTTP/2 alone. */
export async function startHttp2Upstream(
  t: Test,
  tls: Certificate & SecureServerOptions,
  answer: Http2Answer = helloOverHttp2,
): Promise<TlsUpstream> {
  const requests: string[] = []
  const server = createSecureServer(tls)
  server.on('stream', (stream, headers) => {
    requests.push(`${headers[':method']} ${headers[':path']}`)
    // A client that hangs up is what some tests are about.
    stream.on('error', () => undefined)
    answer(stream, headers)
  })
  server.on('sessionError', () => undefined)
  return { requests, ...(await listen(t, server)) }
}

/** For answers that no HTTP server would give. */
export function startRawTls(t: Test, certificate: Certificate, serve: (socket: TLSSocket) => void): Promise<Listening> {
  const server = createTlsServer(certificate, (socket) => {
    socket.on('error', () => undefined)
    serve(socket)
  })
  return listen(t, server)
}

/** Counts who comes. Ends with the test, whoever is still connected. */
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
  // A client that hangs up while TLS is agreed on is what some tests are about.
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
      // Shorter than any time limit that would close it in the end anyway.
      const signal = AbortSignal.timeout(5000)
      await Promise.all([...standing].map((socket) => once(socket, 'close', { signal })))
    },
  }
}
