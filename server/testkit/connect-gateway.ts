/**
 * A forward proxy that ends TLS, with the wire of the service's gateway (GET /v4/gateway): for tests of the clients of one.
 * What it answers inside TLS, and which hosts it refuses, is up to the test.
 */
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { TestContext } from 'node:test'
import { createServer as createTlsServer } from 'node:https'
import { sharedAuthority } from './certificates.ts'
import { listen } from './tls-upstream.ts'

export interface ConnectGateway {
  port: number
  caPem: string
  /** Of each CONNECT: its target and the key in it. */
  asked: { target: string; key: string | undefined }[]
  /** Reason phrases of refusals, by target. */
  refusals: Record<string, string>
  /** Breaks every connection. */
  reset: () => void
}

export async function startConnectGateway(
  t: Pick<TestContext, 'after'>,
  key: string,
  answer: RequestListener,
): Promise<ConnectGateway> {
  const authority = await sharedAuthority()
  const asked: ConnectGateway['asked'] = []
  const refusals: ConnectGateway['refusals'] = {}
  const proxy = createServer((_request, response) => response.writeHead(400).end())
  proxy.on('connect', ({ url: target = '', headers }, socket) => {
    const [, basic = ''] = /^Basic (.*)$/.exec(headers['proxy-authorization'] ?? '') ?? []
    const [, given] = Buffer.from(basic, 'base64').toString().split(':')
    asked.push({ target, key: given })
    const refusal = refusals[target]
    if (given !== key) {
      socket.end('HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm="Sallyport"\r\nContent-Length: 0\r\n\r\n')
    } else if (refusal !== undefined) {
      socket.end(`HTTP/1.1 403 ${refusal}\r\nX-Sallyport-Error: host_not_allowed\r\nContent-Length: 2\r\n\r\n{}`)
    } else {
      void authority.issue({ names: [target.replace(/:\d+$/, '')] }).then((certificate) => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        const tls = createTlsServer(certificate, answer)
        tls.on('tlsClientError', () => undefined)
        tls.emit('connection', socket)
      })
    }
  })
  const { port, reset } = await listen(t, proxy)
  return { port, caPem: authority.caPem, asked, refusals, reset }
}
