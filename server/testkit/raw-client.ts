/** A service on a real port, and raw connections to it. */
import { once } from 'node:events'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { TestContext } from 'node:test'
import type { Engine } from '../src/platform/database/database.ts'
import type { Environment } from '../src/platform/config/settings.ts'
import { startService } from './service.ts'
import type { TestService } from './service.ts'

export interface ListeningService {
  service: TestService
  port: number
  open: () => Promise<RawConnection>
  /** The start of a request to the service, with these header lines. */
  head: (line: string, ...headers: string[]) => string
}

export interface RawConnection {
  socket: Socket
  send: (text: string | Buffer) => void
  /** All bytes so far, once they match, or once the service closed the connection. */
  received: (wanted?: RegExp) => Promise<string>
}

export async function startListening(
  t: Pick<TestContext, 'after'>,
  engine: Engine,
  settings: Environment = {},
  /** Changes the app before it listens. */
  prepare: (service: TestService) => void = () => undefined,
): Promise<ListeningService> {
  const sockets: Socket[] = []
  // Before the service stops, which waits for them.
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  const service = await startService(t, engine, settings)
  const { app, config } = service
  prepare(service)
  await app.http.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.http.server.address() as AddressInfo
  const open = async (): Promise<RawConnection> => {
    const socket = connect({ port, host: '127.0.0.1' }).on('error', () => undefined)
    sockets.push(socket)
    await once(socket, 'connect')
    return { socket, send: (bytes) => socket.write(bytes), received: reading(socket) }
  }
  const head: ListeningService['head'] = (line, ...headers) =>
    [line, `Host: ${config.baseUrl.host}`, ...headers, '\r\n'].join('\r\n')
  return { service, port, open, head }
}

function reading(socket: Socket): RawConnection['received'] {
  let text = ''
  let isReading = false
  return async (wanted) => {
    if (!isReading) {
      isReading = true
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1')
      })
    }
    while (!wanted?.test(text) && !socket.closed) {
      await Promise.race([once(socket, 'data'), once(socket, 'close')])
    }
    return text
  }
}
