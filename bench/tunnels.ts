/** Orders to the load generator for proxies, and how it carries them out: calls in tunnels (CONNECT) with TLS inside. */
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import type { ClientHttp2Session } from 'node:http2'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { TLSSocket } from 'node:tls'

export type Protocol = 'http/1.1' | 'h2'

export interface Proxy {
  port: number
  /** In PEM: the authority of the certificates that it shows. */
  ca: string
  /** For `Proxy-Authorization`. Each tunnel takes the next. */
  credentials: string[]
}

interface Calls {
  proxy: Proxy
  protocol: Protocol
  /** The API: `localhost:1234`. */
  host: string
  path: string
}

export type TunnelOrder =
  | (Calls & { kind: 'tunnels'; connections: number; seconds: number; atLeast: number })
  /** A tunnel of its own, and one call, for each of the hosts in turn. */
  | (Omit<Calls, 'host'> & { kind: 'first'; hosts: string[] })
  /** One call with a long body, in this direction. */
  | (Omit<Calls, 'path'> & { kind: 'transfer'; direction: 'up' | 'down'; bytes: number })
  /** Opens tunnels, makes a call in each, and leaves them open until the next order. */
  | (Calls & { kind: 'idle'; tunnels: number; pauseMs: number })

export interface Timed {
  latencies: number[]
  seconds: number
}

export const isTunnelOrder = (order: { kind: string }): order is TunnelOrder =>
  ['tunnels', 'first', 'transfer', 'idle'].includes(order.kind)

const left: Tunnel[] = []

export async function carryOut(order: TunnelOrder): Promise<Timed> {
  for (const tunnel of left.splice(0)) tunnel.close()
  const started = performance.now()
  const latencies = await latenciesOf(order)
  return { latencies, seconds: (performance.now() - started) / 1000 }
}

async function latenciesOf(order: TunnelOrder): Promise<number[]> {
  const latencies: number[] = []
  const timed = async (work: () => Promise<unknown>) => {
    const began = performance.now()
    await work()
    latencies.push(performance.now() - began)
  }
  if (order.kind === 'first') {
    for (const [index, host] of order.hosts.entries()) {
      let tunnel: Tunnel | undefined
      await timed(async () => {
        tunnel = await openTunnel(order, host, index)
        await tunnel.call(order.path)
      })
      tunnel?.close()
    }
    return latencies
  }
  if (order.kind === 'transfer') {
    await timed(() => transfer(order))
    return latencies
  }
  if (order.kind === 'idle') {
    for (let index = 0; index < order.tunnels; index++) {
      const tunnel = await openTunnel(order, order.host, index)
      left.push(tunnel)
      await timed(() => tunnel.call(order.path))
      await new Promise((resolve) => setTimeout(resolve, order.pauseMs))
    }
    return latencies
  }
  const end = performance.now() + order.seconds * 1000
  let made = 0
  const run = async (index: number) => {
    const tunnel = await openTunnel(order, order.host, index)
    while (performance.now() < end || made < order.atLeast) {
      made++
      await timed(() => tunnel.call(order.path))
    }
    tunnel.close()
  }
  await Promise.all(Array.from({ length: order.connections }, (_, index) => run(index)))
  return latencies
}

interface Tunnel {
  /** Rejects unless the answer is a whole one with status 200. */
  call: (path: string) => Promise<void>
  close: () => void
}

async function secureTunnel(
  { proxy: { port, ca, credentials }, protocol }: Pick<Calls, 'proxy' | 'protocol'>,
  host: string,
  index: number,
): Promise<TLSSocket> {
  const credential = credentials[index % credentials.length] ?? ''
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const authority = host.includes(':') ? host : `${host}:443`
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\nproxy-authorization: ${credential}\r\n\r\n`)
  const head = await headOf(socket)
  if (!head.startsWith('HTTP/1.1 200')) throw new Error(`a tunnel was answered with ${head}`)
  const name = host.replace(/:\d+$/, '')
  const isAddress = /^[\d.]+$/.test(name)
  const secured = connectTls({
    ...{ socket, ca, host: name, ALPNProtocols: [protocol] },
    ...(!isAddress && { servername: name }),
  })
  await once(secured, 'secureConnect')
  return secured
}

async function headOf(socket: Socket): Promise<string> {
  let head = ''
  while (!head.includes('\r\n\r\n')) head += String((await once(socket, 'data'))[0])
  return head
}

async function openTunnel(calls: Pick<Calls, 'proxy' | 'protocol'>, host: string, index: number): Promise<Tunnel> {
  const socket = await secureTunnel(calls, host, index)
  return calls.protocol === 'h2' ? overHttp2(socket, host) : overHttp1(socket, host)
}

/** Without an HTTP client: on a small machine its CPU time would be taken from what is measured. */
function overHttp1(socket: TLSSocket, host: string): Tunnel {
  let pending: PromiseWithResolvers<undefined> | undefined
  let text = ''
  const fail = (why: string) => {
    pending?.reject(new Error(`${why} after ${text.slice(0, 500)}`))
    pending = undefined
  }
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    if (!isWhole(text)) return
    if (!text.startsWith('HTTP/1.1 200')) {
      fail('a wrong answer')
      return
    }
    text = ''
    const { resolve } = pending ?? {}
    pending = undefined
    resolve?.(undefined)
  })
  socket.on('error', (error) => {
    fail(String(error))
  })
  socket.on('close', () => {
    fail('a tunnel was closed')
  })
  return {
    call: (path) => {
      pending = Promise.withResolvers()
      socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer none\r\n\r\n`)
      return pending.promise
    },
    close: () => socket.destroy(),
  }
}

/** Of small answers, whose body has no empty chunk in its text. */
function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return false
  const [, length] = /\r\ncontent-length: (\d+)\r\n/i.exec(text.slice(0, end + 2)) ?? []
  return length === undefined ? text.endsWith('\r\n0\r\n\r\n') : text.length >= end + 4 + Number(length)
}

function overHttp2(socket: TLSSocket, host: string): Tunnel {
  const session: ClientHttp2Session = connectHttp2(`https://${host}`, { createConnection: () => socket })
  session.on('error', () => undefined)
  return {
    call: (path) => {
      const { promise, resolve, reject } = Promise.withResolvers<undefined>()
      const stream = session.request({ ':path': path, authorization: 'Bearer none' })
      let status: unknown
      stream.on('response', (headers) => (status = headers[':status']))
      let text = ''
      stream.on('data', (chunk: Buffer) => {
        if (status !== 200) text += String(chunk)
      })
      stream.on('end', () => {
        if (status === 200) resolve(undefined)
        else reject(new Error(`an HTTP/2 call was answered ${String(status)}: ${text.slice(0, 500)}`))
      })
      stream.on('error', reject)
      return promise
    },
    close: () => {
      session.destroy()
    },
  }
}

/** Over HTTP/1.1, as fast as it is taken. */
async function transfer(order: Extract<TunnelOrder, { kind: 'transfer' }>): Promise<void> {
  const { host, direction, bytes } = order
  const socket = await secureTunnel({ ...order, protocol: 'http/1.1' }, host, 0)
  const isUp = direction === 'up'
  const headers = { host, authorization: 'Bearer none', 'content-type': 'application/octet-stream' }
  const call = httpRequest({
    ...{ createConnection: () => socket, method: isUp ? 'POST' : 'GET' },
    path: isUp ? '/sink' : `/stream/${bytes}`,
    headers: isUp ? { ...headers, 'content-length': bytes } : headers,
  })
  const answered = once(call, 'response')
  const piece = Buffer.alloc(65_536, 'data: and so on, and so forth\n')
  for (let sent = 0; isUp && sent < bytes; sent += piece.length) {
    if (!call.write(piece)) await Promise.race([once(call, 'drain'), answered])
  }
  call.end()
  const [response] = (await answered) as [AsyncIterable<Buffer> & { statusCode: number }]
  let received = 0
  let text = ''
  for await (const chunk of response) {
    received += chunk.length
    if (isUp) text += String(chunk)
  }
  const arrived = isUp ? Number(/"received":(\d+)/.exec(text)?.[1]) : received
  if (response.statusCode !== 200 || arrived !== bytes) {
    throw new Error(`a transfer was answered ${response.statusCode}, and ${arrived} bytes arrived: ${text}`)
  }
  socket.destroy()
}
