/**
 * The servers behind a tunnel: TLS with the certificate of the tunnel's host, then HTTP/1.1 or HTTP/2 as the client chose.
 * None of them listens: they are handed connections.
 */
import { createServer as createHttp2Server } from 'node:http2'
import type { Http2Server } from 'node:http2'
import type { IncomingMessage, RequestListener, Server as HttpServer, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { createSecureContext, createServer as createTlsServer } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { memoizeByObject } from '../../cache/memoize.ts'
import type { Log } from '../../operations/log.ts'
import { holdContinue } from '../expect-continue.ts'
import { createBoundedListener } from '../listener.ts'
import type { ListenerTimeouts } from '../listener.ts'
import { closeUnreadStreams } from './unread-streams.ts'

/** In PEM. */
export interface ServerCertificate {
  cert: string
  key: string
}

export const maxStreams = 100
const maxHeaderSize = 32 * 1024
/** Resets that one connection may cause (RFC 9113 §10.5), in any ten seconds. */
export const maxResets = 100

const minVersion = 'TLSv1.2'

/** Creating one takes longer than everything else at the start of a tunnel. */
const secureContextOf = memoizeByObject((certificate: ServerCertificate) =>
  createSecureContext({ ...certificate, minVersion }),
)

export interface TlsTerms {
  certificate: ServerCertificate
  /** The client has to ask for it by SNI. Undefined for an address, which SNI can't have. */
  serverName: string | undefined
  timeoutMs: number
}

export class WrongServerName extends Error {
  readonly serverName: string

  constructor(serverName: string) {
    super('the client asked for another host than the tunnel is for')
    this.name = 'WrongServerName'
    this.serverName = serverName
  }
}

interface HandshakeEnds {
  /** Called as the handshake ends: whoever reads the connection must do so at once. */
  onSecure: (socket: TLSSocket) => void
  onFailed: (error: Error) => void
}

export function terminateTls(
  raw: Duplex,
  { certificate, serverName, timeoutMs }: TlsTerms,
  { onSecure, onFailed }: HandshakeEnds,
): void {
  // A server of its own for each connection: Node does not tell which connection a name is asked for on.
  const server = createTlsServer({
    ...(serverName === undefined && certificate),
    minVersion,
    ALPNProtocols: ['h2', 'http/1.1'],
    handshakeTimeout: timeoutMs,
    SNICallback: (asked, done) => {
      if (asked.toLowerCase() === serverName) done(null, secureContextOf(certificate))
      else done(new WrongServerName(asked))
    },
  })
  server.on('secureConnection', (socket) => {
    // The client may leave at any time, and an error without a listener would end the process.
    socket.on('error', () => undefined)
    onSecure(socket)
  })
  server.on('tlsClientError', (error) => {
    raw.destroy()
    onFailed(error)
  })
  server.emit('connection', raw)
}

export interface InnerServers {
  http1: HttpServer
  http2: Http2Server
}

export function createInnerServers(
  config: ListenerTimeouts,
  log: Log,
  serve: RequestListener,
  onBroken: (error: NodeJS.ErrnoException, socket: Duplex) => void,
): InnerServers {
  const http1 = createBoundedListener(config, log, serve, { maxHeaderSize })
  http1.on('clientError', onBroken)
  // It never listens, but from this event on it limits how long a head may take.
  http1.emit('listening')
  const http2 = createHttp2Server({
    settings: { maxConcurrentStreams: maxStreams, maxHeaderListSize: maxHeaderSize, enablePush: false },
    maxSessionRejectedStreams: maxResets,
    maxSessionInvalidFrames: maxResets,
    streamResetBurst: maxResets,
    streamResetRate: maxResets / 10,
  })
  // The types of Node's classes differ in what is not used here.
  holdContinue(http2 as unknown as HttpServer)
  http2.on('request', (request, response) => {
    closeUnreadStreams(response.stream, config.unreadAnswerSeconds * 1000)
    // Node's class has no such member; http1's has, and it is read.
    Object.defineProperty(response, 'closed', { get: () => response.stream.closed })
    serve(request as unknown as IncomingMessage, response as unknown as ServerResponse)
  })
  return { http1, http2 }
}
