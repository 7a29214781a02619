/**
 * The listener of the gateway: a proxy that opens tunnels (CONNECT) to a few hosts, terminates TLS in them, and hands their
 * requests to the service's own routes. It never connects anywhere itself. Who may open what is decided by the `gate`.
 */
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../../clock.ts'
import { ServiceError } from '../../errors.ts'
import { newId } from '../../ids.ts'
import type { Log } from '../../operations/log.ts'
import type { Secret } from '../../secret.ts'
import { replyToBrokenRequest, toServiceError } from '../error-replies.ts'
import type { Http } from '../http.ts'
import { backlog, createBoundedListener, maxHeaderBytes } from '../listener.ts'
import type { ListenerTimeouts, TlsFiles } from '../listener.ts'
import { markTunnelled } from '../tunnelled.ts'
import { refuseRequest, refuseTunnel } from './proxy-replies.ts'
import { openTunnel } from './tunnel.ts'
import type { Tunnel } from './tunnel.ts'
import { createInnerServers, terminateTls, WrongServerName } from './tunnel-servers.ts'
import type { ServerCertificate } from './tunnel-servers.ts'
import { addressIn, proxyCredential, readTarget, splitAbsolute } from './tunnel-target.ts'
import type { TunnelTarget } from './tunnel-target.ts'
import { checkTunnelledHead, namedHost } from './tunnelled-head.ts'

/** What a client asks for, before anything of it is trusted. */
export interface Asked {
  /** A single request comes in absolute form, outside a tunnel. */
  way: 'tunnel' | 'request'
  /** Undefined if it is malformed. */
  target: TunnelTarget | undefined
  scheme: string
  credential: Secret | undefined
  address: string | undefined
  requestId: string
}

export interface Admitted {
  keySecret: Secret
  /** Of the target. The client verifies it. */
  certificate: () => Promise<ServerCertificate>
  /** The handshake is done. */
  opened: (tunnel: Tunnel) => void
  /** Called once the client is gone. */
  closed: () => void
  /** The client asked for something else in the tunnel, and was refused. */
  refused: (error: ServiceError, asked: { requestId: string; method: string; host: string }) => void
}

export interface TunnelGate {
  /** Throws the error that the client is told. */
  admit: (asked: Asked) => Promise<Admitted>
  onHandshake: (outcome: 'done' | 'failed') => void
}

interface ListenerNeeds {
  config: ListenerTimeouts & TlsFiles
  http: Pick<Http, 'routing'>
  gate: TunnelGate
  clock: Clock
  log: Log
}

export interface TunnelListener {
  server: Server
  /** Serves a connection that arrived elsewhere. */
  take: (connection: Duplex) => void
  /** Rejects if the port is in use. */
  listen: (where: { host: string; port: number }) => Promise<void>
  /** Accepts nothing more. Resolves once the last connection is closed. */
  close: () => Promise<void>
  destroyAll: () => void
}

interface Open {
  tunnel: Tunnel
  target: TunnelTarget
  admitted: Admitted
  address: string | undefined
}

export function createTunnelListener({ config, http, gate, clock, log }: ListenerNeeds): TunnelListener {
  const newRequestId = () => newId('req', clock())
  /** By the connection that requests refer to. */
  const open = new Map<object, Open>()
  /** Those with a response to a request in absolute form in progress. */
  const answering = new WeakSet<Duplex>()
  /** Of CONNECT, from then on. */
  const sockets = new Set<Duplex>()
  let isClosing = false

  const failureOf = (error: unknown, requestId: string): ServiceError => {
    const failure = toServiceError(error)
    if (failure.code === 'internal') log.error({ err: error, request_id: requestId }, 'the gateway failed')
    return failure
  }

  const pass = (request: IncomingMessage, response: ServerResponse, to: Omit<Open, 'tunnel'>) => {
    const requestId = newRequestId()
    try {
      request.url = checkTunnelledHead(request, to.target)
    } catch (error) {
      const failure = failureOf(error, requestId)
      to.admitted.refused(failure, { requestId, method: request.method ?? '', host: namedHost(request) })
      refuseRequest(request, response, failure, requestId, { isByProxy: false })
      return
    }
    const { target, admitted, address } = to
    markTunnelled(request, { keySecret: admitted.keySecret, ...target, address, door: 'gateway' })
    http.routing(request, response)
  }

  const inner = createInnerServers(
    config,
    log,
    (request, response) => {
      const known = open.get(connectionOf(request))
      if (!known || isClosing) {
        request.destroy()
        return
      }
      known.tunnel.carries(response)
      pass(request, response, known)
    },
    (error, socket) => {
      replyToBrokenRequest(error, socket, newRequestId())
    },
  )

  const server = createBoundedListener(
    config,
    log,
    (request, response) => {
      const { socket } = request
      answering.add(socket)
      response.once('close', () => answering.delete(socket))
      void passOne(request, response)
    },
    { maxHeaderSize: maxHeaderBytes, tls: config },
  )
  server.on('clientError', (error, socket) => {
    replyToBrokenRequest(error, socket, newRequestId())
  })
  server.on('connect', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Pipelined behind a request, whose response would land inside the tunnel.
    if (answering.has(socket)) socket.destroy()
    else void connect(request, socket, head)
  })

  /** A request in absolute form, which some clients send to a proxy for https too. */
  async function passOne(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestId = newRequestId()
    try {
      const { scheme = '', authority = '' } = splitAbsolute(request.url ?? '') ?? {}
      if (scheme === '') throw notForProxies()
      const target = readTarget(authority, 443)
      const credential = proxyCredential(request)
      const address = request.socket.remoteAddress
      const admitted = await gate.admit({ way: 'request', target, scheme, credential, address, requestId })
      response.once('close', admitted.closed)
      hideProxyHeaders(request)
      if (target && !response.destroyed) pass(request, response, { target, admitted, address })
    } catch (error) {
      refuseRequest(request, response, failureOf(error, requestId), requestId, { isByProxy: true })
    }
  }

  async function connect(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const requestId = newRequestId()
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    // The handshake and the tunnel have limits of their own.
    if (isTimed(socket)) socket.setTimeout(0)
    const target = readTarget(request.url ?? '')
    const address = request.socket.remoteAddress
    try {
      assertNoBody(request)
      const credential = proxyCredential(request)
      const admitted = await gate.admit({ way: 'tunnel', target, scheme: 'https', credential, address, requestId })
      if (socket.closed) admitted.closed()
      else socket.once('close', admitted.closed)
      const certificate = await admitted.certificate()
      if (target && !isClosing) openOn(socket, head, { target, admitted, address, certificate })
      else socket.destroy()
    } catch (error) {
      refuseTunnel(socket, failureOf(error, requestId), requestId)
    }
  }

  function openOn(
    socket: Duplex,
    head: Buffer,
    { certificate, ...to }: Omit<Open, 'tunnel'> & { certificate: ServerCertificate },
  ): void {
    const { target, admitted } = to
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
    // The client may have sent more already, which can only be the start of its handshake.
    if (head.length > 0) socket.unshift(head)
    // Clients send no SNI for an address (RFC 6066 §3).
    const serverName = addressIn(target.host) === undefined ? target.host : undefined
    const terms = { certificate, serverName, timeoutMs: config.headersTimeoutSeconds * 1000 }
    const onSecure = (secured: TLSSocket) => {
      gate.onHandshake('done')
      const tunnel = openTunnel(inner, secured, config.keepAliveSeconds * 1000)
      open.set(tunnel.connection, { tunnel, ...to })
      secured.once('close', () => open.delete(tunnel.connection))
      admitted.opened(tunnel)
    }
    const onFailed = (error: Error) => {
      gate.onHandshake('failed')
      if (!(error instanceof WrongServerName)) return
      admitted.refused(new ServiceError('wrong_host'), {
        requestId: newRequestId(),
        method: 'CONNECT',
        host: error.serverName,
      })
    }
    terminateTls(socket, terms, { onSecure, onFailed })
  }

  return {
    server,
    take: (connection) => {
      connection.on('error', () => undefined)
      // Where it arrived, TLS was terminated already.
      server.emit(server instanceof TlsServer ? 'secureConnection' : 'connection', connection)
    },
    listen: async (where) => {
      await once(server.listen({ ...where, backlog }), 'listening')
    },
    close: async () => {
      isClosing = true
      const closed = once(server, 'close')
      server.close()
      for (const { tunnel } of open.values()) tunnel.end()
      await closed
    },
    destroyAll: () => {
      server.closeAllConnections()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** One that did not arrive at a port has no time-outs. */
function isTimed(socket: Duplex): socket is Socket {
  return 'setTimeout' in socket
}

/** The socket of HTTP/1.1, the session of HTTP/2. */
function connectionOf(request: IncomingMessage): object {
  const { stream } = request as { stream?: { session?: object } }
  return stream?.session ?? request.socket
}

function assertNoBody({ headers }: IncomingMessage): void {
  if ((headers['content-length'] ?? headers['transfer-encoding']) === undefined) return
  throw new ServiceError('invalid_http', { message: 'A CONNECT has no body.' })
}

/** They are for this proxy. */
function hideProxyHeaders(request: IncomingMessage): void {
  const isOfProxy = (name = '') => name.toLowerCase().startsWith('proxy-')
  for (const name of Object.keys(request.headers)) if (isOfProxy(name)) Reflect.deleteProperty(request.headers, name)
  request.rawHeaders = request.rawHeaders.filter((_, index, all) => !isOfProxy(all[index - (index % 2)]))
}

function notForProxies(): ServiceError {
  const message = 'This is the gateway, a proxy for https. Set it as HTTPS_PROXY, with a key for tools as password.'
  return new ServiceError('invalid_http', { message })
}
