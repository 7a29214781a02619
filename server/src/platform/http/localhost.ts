/**
 * `localhost` is two addresses, and a client may try either. Whoever else on this machine listened on the one that we
 * do not would be sent sign-in links and tokens that are meant for us: we hold both, or do not start.
 */
import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import type { Server } from 'node:net'
import type { PlatformConfig } from '../config/platform-settings.ts'
import type { Log } from '../operations/log.ts'
import { backlog, createForwardingListener } from './listener.ts'

const otherAddress: Record<string, string> = { '127.0.0.1': '::1', '::1': '127.0.0.1' }

/** The address to listen on first. Left to find both by itself, Fastify would go on where one of them is taken. */
export function mainAddress({ host }: Pick<PlatformConfig, 'host'>): string {
  return host === 'localhost' ? '127.0.0.1' : host
}

/** Passes what comes to the other address on to the server. Undefined where there is none to hold. */
export async function listenOnOtherLoopback(
  http: HttpServer,
  config: Pick<PlatformConfig, 'host' | 'port' | 'baseUrl'>,
  log: Log,
): Promise<Server | undefined> {
  const address = config.baseUrl.hostname === 'localhost' ? otherAddress[mainAddress(config)] : undefined
  if (address === undefined) return undefined
  const server = createForwardingListener(http, log)
  try {
    await once(server.listen({ port: config.port, host: address, backlog }), 'listening')
    return server
  } catch (error) {
    // A machine without IPv6 has nobody listening there either.
    if (['EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/** The server itself may be closed already: it does not count the connections that came this way. */
export async function closeOtherLoopback(http: HttpServer, server: Server): Promise<void> {
  const timer = setInterval(() => {
    http.closeIdleConnections()
  }, 100)
  await once(server.close(), 'close')
  clearInterval(timer)
}
