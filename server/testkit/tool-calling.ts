/** Tools of an agent: they call base URLs over a socket, and the upstream's own URL in tunnels over HTTP/1.1 and HTTP/2. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { connect, createServer as createHttp2Server } from 'node:http2'
import type { ClientHttp2Stream } from 'node:http2'
import type { AddressInfo, Server } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { markTunnelled } from '../src/platform/http/tunnelled.ts'
import { Secret } from '../src/platform/secret.ts'
import type { Calling } from './calling.ts'

export interface ToolRequest {
  method?: string
  headers?: Record<string, string | string[]>
  body?: string | Buffer
}

export interface ToolReply {
  status: number
  headers: IncomingHttpHeaders
  trailers: NodeJS.Dict<string>
  text: string
  /** Of JSON. */
  body: any
}

export interface Tools {
  key: string
  keyId: string
  /** A request to the base URL of the calling's grant and host, with the key as bearer token. */
  call: (path: string, request?: ToolRequest) => Promise<ToolReply>
  /** To any target of the service. */
  send: (target: string, request?: ToolRequest) => Promise<ToolReply>
  /** The same, not sent to its end. */
  open: (target: string, request?: ToolRequest) => ClientRequest
  base: string
}

type Scope = Pick<TestContext, 'after'>

export async function makeKey({ service, agent, grantId }: Calling, grantIds = [grantId], token = agent.token) {
  const { status, body, text } = await service.call('POST', '/v4/agents/keys', { token, body: { grant_ids: grantIds } })
  assert.equal(status, 201, text)
  return { key: body.key as string, keyId: body.key_id as string }
}

export async function startTools(t: Scope, calling: Calling, grantIds?: string[]): Promise<Tools> {
  const { service, upstream, grantId } = calling
  const { http } = service.app
  const { key, keyId } = await makeKey(calling, grantIds)
  if (!http.server.listening) await http.listen({ host: '127.0.0.1', port: 0 })
  const { port } = http.server.address() as AddressInfo
  const base = `/v4/proxy/${grantId}/${upstream.host}`
  const open: Tools['open'] = (target, { method = 'GET', headers = {} } = {}) => {
    const own = { host: service.config.baseUrl.host, authorization: `Bearer ${key}` }
    const request = httpRequest({
      host: '127.0.0.1',
      port,
      path: target,
      method,
      agent: false,
      headers: { ...own, ...headers },
    })
    t.after(() => request.destroy())
    return request.on('error', () => undefined)
  }
  const send: Tools['send'] = (target, asked = {}) => finish(open(target, asked), asked.body)
  return { key, keyId, base, open, send, call: (path, asked) => send(`${base}${path}`, asked) }
}

async function finish(request: ClientRequest, body: ToolRequest['body']): Promise<ToolReply> {
  const answered = Promise.race([
    once(request, 'response'),
    once(request, 'close').then(() => Promise.reject(new Error('the connection was closed without an answer'))),
  ])
  request.end(body)
  const [answer] = (await answered) as [IncomingMessage]
  const text = (await buffer(answer)).toString('latin1')
  return replyOf(answer.statusCode ?? 0, answer.headers, answer.trailers, text)
}

function replyOf(status: number, headers: IncomingHttpHeaders, trailers: NodeJS.Dict<string>, text: string): ToolReply {
  const isJson = String(headers['content-type']).startsWith('application/json') && text !== ''
  return { status, headers, trailers, text, body: isJson ? JSON.parse(text) : undefined }
}

export const versions = ['HTTP/1.1', 'HTTP/2'] as const

/** A tunnel to a host, as the gateway opens it: without TLS, which ends before the requests are read. */
export async function openTunnel(
  t: Scope,
  { service }: Pick<Calling, 'service'>,
  { key, host, version }: { key: string; host: string; version: (typeof versions)[number] },
): Promise<(path: string, request?: ToolRequest) => Promise<ToolReply>> {
  const { http } = service.app
  await http.ready()
  const { hostname, port } = new URL(`https://${host}`)
  const known = { keySecret: new Secret(key), host: hostname, port: Number(port || 443), address: '192.0.2.1' }
  const onRequest = (request: any, response: any) => {
    markTunnelled(request, { ...known, door: 'gateway' })
    http.routing(request, response)
  }
  const server = version === 'HTTP/2' ? createHttp2Server(onRequest) : createServer(onRequest)
  const at = await listen(t, server)
  if (version === 'HTTP/1.1') {
    return (path, { method = 'GET', headers = {}, body } = {}) => {
      const request = httpRequest({
        host: '127.0.0.1',
        port: at,
        path,
        method,
        agent: false,
        headers: { host, ...headers },
      })
      t.after(() => request.destroy())
      return finish(
        request.on('error', () => undefined),
        body,
      )
    }
  }
  const session = connect(`http://127.0.0.1:${at}`)
  session.on('error', () => undefined)
  t.after(() => {
    session.destroy()
  })
  return async (path, { method = 'GET', headers = {}, body } = {}) => {
    const names = { ':path': path, ':method': method, ':authority': host }
    const stream: ClientHttp2Stream = session.request({ ...names, ...headers }, { endStream: body === undefined })
    let trailers = {}
    stream.on('trailers', (list) => (trailers = { ...list }))
    const answered = once(stream, 'response')
    if (body !== undefined) stream.end(body)
    const [answer] = (await answered) as [IncomingHttpHeaders & { ':status'?: number }]
    const text = (await buffer(stream)).toString('latin1')
    return replyOf(answer[':status'] ?? 0, answer, trailers, text)
  }
}

async function listen(t: Scope, server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.close()
  })
  return (server.address() as AddressInfo).port
}
