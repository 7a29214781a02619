/**
 * Every server of the service is made here. Node takes its own error listener off a socket that it hands over (CONNECT,
 * upgrades, broken requests), and an error without a listener ends the process: each socket gets one when it is accepted.
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
import { closeIdleConnections } from './idle-connections.ts'
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
 * Connections that the system keeps until they are accepted. Once there are more, it drops a client's first packet, and
 * the client tries again only after a second or more. The system may have a lower limit (`net.core.somaxconn`).
 */
export const backlog = 4096

/** Speaks https where it is given a certificate. */
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
    // host-rule.ts says it in our words.
    requireHostHeader: false,
  }
  const server = createBareServer(tls, limits)
  const { listener: bounded, answerOn } = limitPipelining(throttleAnonymousWrites(listener))
  closeIdleConnections(server, config, answerOn)
  return (
    surviveErrors(server, log)
      .on('request', bounded)
      // An expectation that we don't know is no reason to refuse; Node would, without a word.
      .on('checkExpectation', bounded)
  )
}

/** Accepts connections for a server that listens elsewhere. */
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
  // Of https, the socket that requests are read from.
  server.on('secureConnection', survive)
  server.on('error', (error) => {
    // Whoever asked it to listen hears of what went wrong before that.
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
    throw new ConfigError([`SALLYPORT_TLS_CERT_FILE and SALLYPORT_TLS_KEY_FILE can not be used: ${message}.`])
  }
}

/** New connections get the certificate that the files hold now. Throws where it can't be used, and the old one stays. */
export function rereadCertificate(server: HttpServer, { tlsCertFile, tlsKeyFile }: TlsFiles): boolean {
  if (!(server instanceof TlsServer) || tlsCertFile === undefined || tlsKeyFile === undefined) return false
  server.setSecureContext({ cert: readFileSync(tlsCertFile), key: readFileSync(tlsKeyFile) })
  return true
}
