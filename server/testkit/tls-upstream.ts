/** A real https server on loopback, with a certificate of the test's own authority. */
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import type { Certificate } from './certificates.ts'

export interface TlsUpstream {
  port: number
  /** TCP connections, whether or not TLS or a request followed. */
  connections: () => number
  /** Of those, how many stand now. */
  standing: () => number
  /** What was asked for: method and path. */
  requests: string[]
}

export async function startTlsUpstream(
  t: Pick<TestContext, 'after'>,
  certificate: Certificate,
  answer: RequestListener = (_request, response) => {
    response.end('hello')
  },
): Promise<TlsUpstream> {
  let connections = 0
  let standing = 0
  const requests: string[] = []
  const server = createServer(certificate, (request, response) => {
    requests.push(`${request.method} ${request.url}`)
    answer(request, response)
  })
  server.on('connection', (socket) => {
    connections++
    standing++
    socket.on('close', () => standing--)
  })
  // A client that hangs up while TLS is agreed on is what some tests are about.
  server.on('tlsClientError', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const { port } = server.address() as AddressInfo
  return { port, connections: () => connections, standing: () => standing, requests }
}
