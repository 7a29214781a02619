/**
 * Creates every server. Node removes its error listener from sockets that it hands over (CONNECT, upgrades, malformed
 * requests), and an error without a listener ends the process: so each accepted socket gets one here.
 */
import { readFileSync } from 'node:fs'
import { createServer as createPlainServer } from 'node:http'
import type { RequestListener, Server as HttpServer, ServerOptions } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import { createServer as createTcpServer } from 'node:net'
import type { Server as TcpServer, Socket } from 'node:net'
import type { PlatformConfig } from '../config/platform-settings.ts'
import type { Log } from '../operations/log.ts'
import { ConfigError } from '../config/settings.ts'
import { throttleAnonymousWrites } from './throttle-anonymous-writes.ts'
import { closeIdleConnections } from './closing-connections.ts'
import { limitPipelining } from './pipelining.ts'

export type ListenerTimeouts = Pick<
  PlatformConfig,
  | 'headersTimeoutSeconds'
  | 'requestTimeoutSeconds'
  | 'connectionIdleSeconds'
  | 'unreadAnswerSeconds'
  | 'keepAliveSeconds'
>
type TlsFiles = Partial<Pick<PlatformConfig, 'tlsCertFile' | 'tlsKeyFile'>>

export const maxHeaderBytes = 16 * 1024

/**
 * The length of the accept queue. When it is full, the kernel drops SYN packets, and clients retry only after a second or
 * more. The kernel may have a lower limit (`net.core.somaxconn`).
 */
export const backlog = 4096

/** An https server if a certificate is given. */
export function createHttpListener(
  config: ListenerTimeouts,
  log: Log,
  listener: RequestListener,
  tls: TlsFiles = {},
): HttpServer {
  const limits = {
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: config.headersTimeoutSeconds * 1000,
    requestTimeout: config.requestTimeoutSeconds * 1000,
    connectionsCheckingInterval: 1000,
    keepAliveTimeout: config.keepAliveSeconds * 1000,
    // request-checks.ts answers with our own error.
    requireHostHeader: false,
  }
  const server = createBareServer(tls, limits)
  const { listener: bounded, answerOn } = limitPipelining(throttleAnonymousWrites(listener))
  closeIdleConnections(server, config, answerOn)
  return (
    surviveErrors(server, log)
      .on('request', bounded)
      // Ignore unknown Expect headers; Node would answer 417 without a body.
      .on('checkExpectation', bounded)
  )
}

/** Accepts connections and passes them to another server. */
export function createForwardingListener(server: HttpServer, log: Log): TcpServer {
  const options = { allowHalfOpen: true, noDelay: true }
  return surviveErrors(
    createTcpServer(options, (socket) => server.emit('connection', socket)),
    log,
  )
}

function surviveErrors<S extends TcpServer>(server: S, log: Log): S {
  const survive = (socket: Socket) => {
    socket.on('error', () => undefined)
  }
  server.on('connection', survive)
  // With https, this is the socket that requests are read from.
  server.on('secureConnection', survive)
  server.on('error', (error) => {
    // Errors before that reject the promise of `listen`.
    if (server.listening) log.error({ err: error }, 'a connection could not be accepted')
  })
  return server
}

function createBareServer({ tlsCertFile, tlsKeyFile }: TlsFiles, limits: ServerOptions): HttpServer {
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return createPlainServer(limits)
  try {
    return createTlsServer({ ...limits, cert: readFileSync(tlsCertFile), key: readFileSync(tlsKeyFile) })
  } catch (error) {
    const { message } = error as Error
    throw new ConfigError([`SALLYPORT_TLS_CERT_FILE and SALLYPORT_TLS_KEY_FILE cannot be used: ${message}.`])
  }
}

/** Reloads the certificate for new connections. Throws if it is invalid, and the old one stays in use. */
export function rereadCertificate(server: HttpServer, { tlsCertFile, tlsKeyFile }: TlsFiles): boolean {
  if (!(server instanceof TlsServer) || tlsCertFile === undefined || tlsKeyFile === undefined) return false
  server.setSecureContext({ cert: readFileSync(tlsCertFile), key: readFileSync(tlsKeyFile) })
  return true
}
