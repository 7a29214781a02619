import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import type { Server as HttpServer } from 'node:http'

/** Listens on this port of 127.0.0.1, or on any free one. */
export async function listenNear(server: Server, wanted: number): Promise<number> {
  for (const port of wanted <= 65_535 ? [wanted, 0] : [0]) {
    try {
      await once(server.listen(port, '127.0.0.1'), 'listening')
      return (server.address() as AddressInfo).port
    } catch (error) {
      if (port === 0 || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    }
  }
  throw new Error('no port is free')
}

/** Checks both addresses of `localhost`, as the service listens on both. */
export async function isFree(port: number): Promise<boolean> {
  for (const address of ['127.0.0.1', '::1']) {
    const server = createServer()
    try {
      await once(server.listen(port, address), 'listening')
    } catch (error) {
      if (['EADDRINUSE', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
      continue
    }
    server.close()
    await once(server, 'close')
  }
  return true
}

export async function anyFreePort(): Promise<number> {
  const server = createServer()
  const port = await listenNear(server, 0)
  server.close()
  await once(server, 'close')
  return port
}

export async function stopListening(server: HttpServer): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
