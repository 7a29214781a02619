import { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Http } from './http.ts'

/** At a stop, calls in flight are answered with `connection: close`; all other connections are closed. */
export function closeConnectionsOnStop(http: Http): void {
  const unused = new Set<Socket>()
  const { server } = http
  let isStopping = false
  // Browsers preconnect, and Node doesn't count connections without a request as idle.
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    unused.add(socket)
    socket.on('close', () => unused.delete(socket))
  })
  server.on('request', ({ socket }) => unused.delete(socket))
  http.addHook('onSend', (_request, reply, _payload, done) => {
    if (isStopping) reply.header('connection', 'close')
    done()
  })
  http.addHook('preClose', async () => {
    isStopping = true
    if (!server.listening) return
    for (const socket of unused) socket.destroy()
    // A response that had started before the stop leaves its connection idle.
    const timer = setInterval(() => {
      server.closeIdleConnections()
    }, 100)
    server.on('close', () => {
      clearInterval(timer)
    })
  })
}
