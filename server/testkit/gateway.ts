/** A service whose gateway listens, a key for tools, and clients that speak to it byte by byte or by Node's own modules. */
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import type { Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import type { Engine } from '../src/platform/database/database.ts'
import { startCalling } from './calling.ts'
import type { Calling, CallingOptions } from './calling.ts'
import { fixedClock } from './clock.ts'

/** The answer to a CONNECT. */
export interface ConnectReply {
  status: number
  reason: string
  headers: Record<string, string>
  body: string
  socket: Socket
}

export interface HttpReply {
  status: number
  headers: Record<string, unknown>
  body: string
}

export interface TestGateway extends Calling {
  port: number
  key: string
  keyId: string
  /** In PEM. */
  authority: string
  /** A connection to the gateway, on which nothing was sent. */
  openSocket: () => Promise<Socket>
  /** `host:port` as it is in the request line. Without a credential, `null`. */
  connect: (target?: string, credential?: string | null, more?: string[]) => Promise<ConnectReply>
  /** CONNECT and the handshake. Rejects if either fails, but waits if the agent opens too many tunnels. */
  tunnel: (options?: TunnelOptions) => Promise<TLSSocket>
  http2: (options?: TunnelOptions) => Promise<ClientHttp2Session>
}

export interface TunnelOptions {
  target?: string
  credential?: string
  tls?: ConnectionOptions
}

export async function startGateway(
  t: Pick<TestContext, 'after'>,
  engine: Engine,
  options: CallingOptions = {},
): Promise<TestGateway> {
  const sockets = new Set<Socket>()
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  // Clients check certificates by the time that it really is.
  const calling = await startCalling(t, engine, { clock: fixedClock(new Date()), ...options })
  const { service, upstream, agent, grantId } = calling
  const { app, call } = service
  await app.http.ready()
  await app.gateway.listen(0)
  const port = app.gateway.address()?.port ?? 0
  const made = await call('POST', '/v4/agents/keys', { token: agent.token, body: { grant_ids: [grantId] } })
  const { key, key_id: keyId } = made.body as { key: string; key_id: string }
  const { text: authority } = await call('GET', '/v4/gateway/ca.pem')

  const openSocket = async () => {
    const socket = connectTcp({ port, host: '127.0.0.1' }).on('error', () => undefined)
    sockets.add(socket)
    await once(socket, 'connect')
    return socket
  }
  const connect: TestGateway['connect'] = async (target = upstream.host, credential = basic(key), more = []) => {
    const socket = await openSocket()
    const auth = credential === null ? [] : [`Proxy-Authorization: ${credential}`]
    socket.write([`CONNECT ${target} HTTP/1.1`, `Host: ${target}`, ...auth, ...more, '', ''].join('\r\n'))
    return { ...(await readReply(socket)), socket }
  }
  const tunnel: TestGateway['tunnel'] = async ({ target, credential, tls = {} } = {}) => {
    const { status, reason, socket } = await connect(target, credential)
    if (status === 429)
      return sleep(200).then(() => tunnel({ ...(target && { target }), ...(credential && { credential }), tls }))
    if (status !== 200) throw new Error(`${status} ${reason}`)
    const servername = (target ?? upstream.host).replace(/:\d+$/, '')
    const secured = connectTls({ socket, servername, ca: authority, ALPNProtocols: ['http/1.1'], ...tls })
    sockets.add(secured)
    await once(secured, 'secureConnect')
    return secured.on('error', () => undefined)
  }
  return {
    ...calling,
    ...{ port, key, keyId, authority, openSocket, connect, tunnel },
    http2: async (options = {}) => {
      const socket = await tunnel({ ...options, tls: { ALPNProtocols: ['h2'], ...options.tls } })
      const session = connectHttp2(`https://${upstream.host}`, { createConnection: () => socket })
      session.on('error', () => undefined)
      await once(session, 'connect')
      return session
    },
  }
}

/** As tools write it: any user, and the key as password. */
export function basic(key: string): string {
  return `Basic ${Buffer.from(`sallyport:${key}`).toString('base64')}`
}

/** A request on a connection that is there already. */
export function requestOn(socket: Socket, options: RequestOptions): ClientRequest {
  const request = httpRequest({ createConnection: () => socket, ...options })
  return request.on('error', () => undefined)
}

export async function getOn(socket: Socket, options: RequestOptions, body?: string): Promise<HttpReply> {
  const request = requestOn(socket, options)
  request.end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const { statusCode: status = 0, headers } = response
  return { status, headers, body: (await buffer(response)).toString() }
}

export async function getOver(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body?: string,
): Promise<HttpReply> {
  const stream: ClientHttp2Stream = session.request(headers, { endStream: body === undefined })
  if (body !== undefined) stream.end(body)
  const answered = once(stream, 'response')
  const text = buffer(stream)
  const [received] = (await answered) as [Record<string, unknown>]
  return { status: Number(received[':status']), headers: received, body: (await text).toString() }
}

/** Everything up to the end of the connection, or of the body that is announced. */
async function readReply(socket: Socket): Promise<Omit<ConnectReply, 'socket'>> {
  let received = ''
  for (;;) {
    const [head = '', ...rest] = received.split('\r\n\r\n')
    const [line = '', ...lines] = head.split('\r\n')
    const headers = Object.fromEntries(
      lines.map((one) => [one.split(': ')[0]?.toLowerCase() ?? '', one.replace(/^[^:]*: /, '')]),
    )
    const [, status = '', reason = ''] = /^HTTP\/1\.1 (\d{3}) (.*)$/.exec(line) ?? []
    const body = rest.join('\r\n\r\n')
    const isWhole = received.includes('\r\n\r\n') && Buffer.byteLength(body) >= Number(headers['content-length'] ?? 0)
    if (isWhole) {
      socket.pause()
      return { status: Number(status), reason, headers, body }
    }
    const chunk = await Promise.race([once(socket, 'data'), once(socket, 'close')])
    if (!Buffer.isBuffer(chunk[0]))
      throw new Error(`the gateway closed the connection after ${JSON.stringify(received)}`)
    received += chunk[0].toString('latin1')
  }
}
