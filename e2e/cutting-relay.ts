/** Forwards bytes to the service, and drops requests or responses on demand. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { TestContext } from 'node:test'

export interface CuttingRelay {
  url: string
  /** Sets the port of the service, once it has started. */
  leadTo: (port: number) => void
  /** Drops this many of the next requests or responses. Everything after them passes. */
  lose: (what: 'request' | 'answer', times?: number) => void
  /** How many were dropped so far. */
  lost: () => number
}

export async function startCuttingRelay(t: Pick<TestContext, 'after'>): Promise<CuttingRelay> {
  const losing = { request: 0, answer: 0 }
  let lost = 0
  let port = 0
  const open = new Set<Socket>()
  const server = createServer((client) => {
    const service = connect({ port, host: '127.0.0.1' })
    for (const socket of [client, service]) {
      open.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        open.delete(socket)
        client.destroy()
        service.destroy()
      })
    }
    const passOn = (what: 'request' | 'answer', from: Socket, to: Socket) =>
      from.on('data', (chunk) => {
        // The response to a forwarded request passes, even if the next request is to be dropped.
        if (losing[what] === 0 || (what === 'request' && losing.answer > 0)) {
          to.write(chunk)
          return
        }
        losing[what]--
        lost++
        client.destroy()
      })
    passOn('request', client, service)
    passOn('answer', service, client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}`,
    leadTo: (target) => (port = target),
    lose: (what, times = 1) => (losing[what] = times),
    lost: () => lost,
  }
}
