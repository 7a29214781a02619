/**
 * WebSocket handshakes (RFC 6455 §4). They are routed like every other request, so all hooks and limits apply, and any
 * error is an ordinary response. A route that agrees takes over the connection.
 */
import { ServerResponse } from 'node:http'
import type { IncomingMessage, RequestListener, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'

const upgraded = Symbol('the connection of a handshake')

type Handshake = IncomingMessage & { [upgraded]?: Duplex }

/** For the parser, which otherwise reads a request with an ordinary body. Other upgrades are never agreed to. */
export function isHandshake({ method, httpVersion, headers }: IncomingMessage): boolean {
  const isBodyless = headers['content-length'] === undefined && headers['transfer-encoding'] === undefined
  return method === 'GET' && httpVersion === '1.1' && isBodyless && headers.upgrade?.toLowerCase() === 'websocket'
}

/** Of a server that was created with `shouldUpgradeCallback: isHandshake`. */
export function routeHandshakes(
  server: Server,
  serve: RequestListener,
  answerOn: (socket: Socket) => ServerResponse | undefined,
): void {
  server.on('upgrade', (request: Handshake, socket: Socket, head: Buffer) => {
    // Nobody pipelines a handshake, and its connection is needed for the response in progress.
    if (answerOn(socket)) {
      socket.destroy()
      return
    }
    // What the client sent behind its handshake.
    if (head.length > 0) socket.unshift(head)
    request[upgraded] = socket
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    response.once('finish', () => {
      if (response.statusCode === 101) return
      socket.end()
      // Whatever the client still sends.
      socket.resume()
    })
    serve(request, response)
  })
}

/** The request is a handshake that may be agreed to. */
export function isUpgradable(request: Handshake): boolean {
  return request[upgraded] !== undefined
}

/**
 * Agrees, and hands over the connection. `use` resolves once it is no longer needed; until then the response is not
 * finished.
 */
export async function upgrade(
  reply: FastifyReply,
  headers: readonly (readonly [name: string, value: string])[],
  use: (socket: Duplex) => Promise<void>,
): Promise<void> {
  const { raw, request } = reply
  const socket = (request.raw as Handshake)[upgraded]
  if (!socket) throw new Error('the request is no handshake')
  reply.hijack()
  // The limits of a request no longer apply: its user has its own.
  if ('setTimeout' in socket) (socket as Socket).setTimeout(0)
  raw.writeHead(101, [...headers, ['x-request-id', request.id]].flat())
  raw.flushHeaders()
  try {
    await use(socket)
  } finally {
    raw.end()
  }
}
