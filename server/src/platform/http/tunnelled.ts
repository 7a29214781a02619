/**
 * A request that came through a tunnel of the gateway. Its headers, path and host are meant for the upstream, so nothing in
 * them identifies the caller or is a rule for this service: the tunnel's own key does.
 */
import type { IncomingMessage } from 'node:http'
import type { Secret } from '../secret.ts'

/** What the tunnel knows. */
export interface Tunnelled {
  /** With which the tunnel was opened. It is checked again for each request. */
  keySecret: Secret
  /** Of the CONNECT: lower case, without the port. SNI and Host were the same. */
  host: string
  port: number
  /** The client's address. */
  address: string | undefined
  door: 'gateway'
}

const tunnel = Symbol('tunnel')

type Marked = IncomingMessage & { [tunnel]?: Tunnelled }

/** Where Fastify routes marked requests. Their own target is in `request.originalUrl`. Unmarked ones get 404 there. */
export const tunnelledRoute = '/v4/gateway/tunnelled'

export function markTunnelled(request: IncomingMessage, known: Tunnelled): void {
  ;(request as Marked)[tunnel] = known
}

export function tunnelledOf(request: IncomingMessage): Tunnelled | undefined {
  return (request as Marked)[tunnel]
}
