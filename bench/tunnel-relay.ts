/**
 * The baseline of the gateway: the simplest proxy that terminates TLS in tunnels (CONNECT) and adds a credential. It has one
 * certificate for all hosts, and no authentication, checks, records or redaction.
 */
import { readFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { Readable } from 'node:stream'
import { Agent, request as send } from 'undici'

process.on('disconnect', () => process.exit())
const [caFile = '', certFile = '', keyFile = ''] = process.argv.slice(2)
const dispatcher = new Agent({ connect: { ca: readFileSync(caFile) }, allowH2: false })
const authorization = `Bearer ${'t'.repeat(40)}`

type Request = IncomingMessage | Http2ServerRequest
type Response = ServerResponse | Http2ServerResponse

const hopByHop = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host'])

function withoutHops(headers: Request['headers']): Record<string, string | string[]> {
  const kept = Object.entries(headers).filter(([name]) => !name.startsWith(':') && !hopByHop.has(name))
  return Object.fromEntries(kept) as Record<string, string | string[]>
}

async function relay(request: Request, response: Response): Promise<void> {
  const { method = 'GET', url = '/', headers } = request
  const host = headers[':authority'] ?? headers.host ?? ''
  const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
  const answer = await send(`https://${String(host)}${url}`, {
    method,
    headers: { ...withoutHops(headers), authorization },
    dispatcher,
    ...(hasBody && { body: request as Readable }),
  })
  const out = response as ServerResponse
  out.writeHead(answer.statusCode, withoutHops(answer.headers))
  answer.body.pipe(out)
}

const serve = (request: Request, response: Response) => {
  relay(request, response).catch(() => {
    response.destroy()
  })
}
const http1 = createHttpServer(serve)
const http2 = createHttp2Server(serve)
const tls = createTlsServer({
  cert: readFileSync(certFile),
  key: readFileSync(keyFile),
  ALPNProtocols: ['h2', 'http/1.1'],
})
tls.on('secureConnection', (socket) => {
  socket.on('error', () => undefined)
  const server = socket.alpnProtocol === 'h2' ? http2 : http1
  server.emit('connection', socket)
})
tls.on('tlsClientError', () => undefined)

const proxy = createHttpServer()
proxy.on('connect', (_request, socket, head: Buffer) => {
  socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
  if (head.length > 0) socket.unshift(head)
  tls.emit('connection', socket)
})
proxy.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (proxy.address() as AddressInfo).port })
})
