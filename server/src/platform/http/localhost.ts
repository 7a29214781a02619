/**
 * `localhost` means 127.0.0.1 and ::1, and clients may try either. Another program listening on the one that is free would
 * receive sign-in links and tokens: so the service listens on both, or does not start.
 */
import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import type { Server } from 'node:net'
import type { PlatformConfig } from '../config/platform-settings.ts'
import type { Log } from '../operations/log.ts'
import { backlog, createForwardingListener } from './listener.ts'

const otherAddress: Record<string, string> = { '127.0.0.1': '::1', '::1': '127.0.0.1' }

/** The address to listen on first. For `localhost`, Fastify would listen on both but ignore that one is taken. */
export function mainAddress({ host }: Pick<PlatformConfig, 'host'>): string {
  return host === 'localhost' ? '127.0.0.1' : host
}

/** Listens on the other loopback address and passes connections to the server. Undefined if there is no other. */
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
    // Without IPv6, nothing else can listen there either.
    if (['EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/** The main server doesn't track these connections and may be closed already: so idle ones are closed here. */
export async function closeOtherLoopback(http: HttpServer, server: Server): Promise<void> {
  const timer = setInterval(() => {
    http.closeIdleConnections()
  }, 100)
  await once(server.close(), 'close')
  clearInterval(timer)
}
