/**
 * Creates every server. Node removes its error listener from sockets that it hands over (CONNECT, upgrades, malformed
 * requests), and an error without a listener ends the process: so each accepted socket gets one here.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createPlainServer } from 'node:http'
import type { RequestListener, Server as HttpServer, ServerOptions } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import { createServer as createTcpServer } from 'node:net'
import type { Server as TcpServer, Socket } from 'node:net'
import type { PlatformConfig } from '../config/platform-settings.ts'
import type { Log } from '../operations/log.ts'
import { ConfigError } from '../config/settings.ts'
import { limitArrivalTime } from './arrival-time.ts'
import { throttleAnonymousWrites } from './throttle-anonymous-writes.ts'
import { closeIdleConnections } from './closing-connections.ts'
import { holdContinue } from './expect-continue.ts'
import { limitPipelining } from './pipelining.ts'
import { isHandshake, routeHandshakes } from './upgrades.ts'

export type ListenerTimeouts = Pick<
  PlatformConfig,
  | 'headersTimeoutSeconds'
  | 'requestTimeoutSeconds'
  | 'connectionIdleSeconds'
  | 'unreadAnswerSeconds'
  | 'keepAliveSeconds'
>
export type TlsFiles = Partial<Pick<PlatformConfig, 'tlsCertFile' | 'tlsKeyFile'>>

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
  return createBoundedListener(config, log, throttleAnonymousWrites(listener), { maxHeaderSize: maxHeaderBytes, tls })
}

/** With the limits of every server. */
export function createBoundedListener(
  config: ListenerTimeouts,
  log: Log,
  listener: RequestListener,
  { maxHeaderSize, tls = {} }: { maxHeaderSize: number; tls?: TlsFiles },
): HttpServer {
  const limits = {
    maxHeaderSize,
    headersTimeout: config.headersTimeoutSeconds * 1000,
    // arrival-time.ts
    requestTimeout: 0,
    connectionsCheckingInterval: 1000,
    keepAliveTimeout: config.keepAliveSeconds * 1000,
    // request-checks.ts answers with our own error.
    requireHostHeader: false,
    shouldUpgradeCallback: isHandshake,
  }
  const server = createBareServer(tls, limits)
  const { listener: bounded, answerOn } = limitPipelining(listener)
  closeIdleConnections(server, config, answerOn)
  routeHandshakes(server, bounded, answerOn)
  limitArrivalTime(server, config.requestTimeoutSeconds * 1000)
  return holdContinue(
    surviveErrors(server, log)
      .on('request', bounded)
      // Ignore unknown Expect headers; Node would answer 417 without a body.
      .on('checkExpectation', bounded),
  )
}

const otherAddress: Record<string, string> = { '127.0.0.1': '::1', '::1': '127.0.0.1' }

/** The address to listen on first. For `localhost`, Fastify would listen on both but ignore that one is taken. */
export function mainAddress({ host }: Pick<PlatformConfig, 'host'>): string {
  return host === 'localhost' ? '127.0.0.1' : host
}

/**
 * `localhost` means 127.0.0.1 and ::1, and clients may try either. Another program listening on the one that is free would
 * receive sign-in links and tokens: so the service listens on both, or does not start. Passes connections on the other
 * loopback address to the server. Undefined if there is no other.
 */
export async function listenOnOtherLoopback(
  http: HttpServer,
  config: Pick<PlatformConfig, 'host' | 'port' | 'baseUrl'>,
  log: Log,
): Promise<TcpServer | undefined> {
  const address = config.baseUrl.hostname === 'localhost' ? otherAddress[mainAddress(config)] : undefined
  if (address === undefined) return undefined
  const options = { allowHalfOpen: true, noDelay: true }
  const forwarding = createTcpServer(options, (socket) => http.emit('connection', socket))
  const server = surviveErrors(forwarding, log)
  try {
    await once(server.listen({ port: config.port, host: address, backlog }), 'listening')
    return server
  } catch (error) {
    // Without IPv6, nothing else can listen there either.
    if (['EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/** The main server doesn't track these connections and may be closed already: so idle ones are closed here. */
export async function closeOtherLoopback(http: HttpServer, server: TcpServer): Promise<void> {
  const timer = setInterval(() => {
    http.closeIdleConnections()
  }, 100)
  await once(server.close(), 'close')
  clearInterval(timer)
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

function createBareServer(tls: TlsFiles, limits: ServerOptions): HttpServer {
  try {
    const certificate = readCertificate(tls)
    return certificate ? createTlsServer({ ...limits, ...certificate }) : createPlainServer(limits)
  } catch (error) {
    const { message } = error as Error
    throw new ConfigError([`SALLYPORT_TLS_CERT_FILE and SALLYPORT_TLS_KEY_FILE cannot be used: ${message}.`])
  }
}

function readCertificate({ tlsCertFile, tlsKeyFile }: TlsFiles) {
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return undefined
  return { cert: readFileSync(tlsCertFile), key: readFileSync(tlsKeyFile) }
}

/** Reloads the certificate for new connections. Throws if it is invalid, and the old one stays in use. */
export function rereadCertificate(server: HttpServer, tls: TlsFiles): boolean {
  const certificate = server instanceof TlsServer ? readCertificate(tls) : undefined
  if (certificate) (server as TlsServer).setSecureContext(certificate)
  return certificate !== undefined
}
