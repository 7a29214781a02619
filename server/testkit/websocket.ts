/** WebSockets written by hand over any connection: both sides can break every rule. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  acceptOf,
  closeMessage,
  createMessageReader,
  frameOf,
  maxControlBytes,
} from '@sallyport/protocol/websocket-messages'
import type { Message, MessageKind } from '@sallyport/protocol/websocket-messages'
import { head } from './raw-http.ts'

/** One end of a WebSocket. */
export interface Peer {
  socket: Duplex
  send: (kind: MessageKind, data?: string | Buffer) => void
  close: (code: number, reason?: string) => void
  /** Bytes as they are. */
  raw: (bytes: Buffer) => void
  /** The next message. Undefined once the connection is closed. */
  next: () => Promise<Message | undefined>
  /** The next close, whatever comes before. */
  closed: () => Promise<{ code: number; reason: string } | undefined>
}

export function peerOn(socket: Duplex, { isServer }: { isServer: boolean }): Peer {
  const isFromClient = !isServer
  const read = createMessageReader({ isFromClient: isServer, maxMessageBytes: 10_000_000 })
  const received: Message[] = []
  let isOver = false
  let wake = (): void => undefined
  socket.on('error', () => undefined)
  socket.on('data', (chunk: Buffer) => {
    received.push(...read(chunk))
    wake()
  })
  socket.resume()
  for (const event of ['end', 'close']) {
    socket.on(event, () => {
      isOver = true
      wake()
    })
  }
  const raw = (bytes: Buffer) => {
    if (!socket.destroyed) socket.write(bytes)
  }
  const next: Peer['next'] = async () => {
    while (received.length === 0 && !isOver) await new Promise<void>((resolve) => (wake = resolve))
    return received.shift()
  }
  return {
    ...{ socket, raw, next },
    send: (kind, data = '') => {
      raw(frameOf({ kind, data: Buffer.from(data) }, { isFromClient }))
    },
    close: (code, reason = '') => {
      raw(frameOf(closeMessage(code, reason), { isFromClient }))
    },
    closed: async () => {
      for (;;) {
        const message = await next()
        if (!message) return undefined
        if (message.kind !== 'close') continue
        if (message.data.length === 0) return { code: 1005, reason: '' }
        return { code: message.data.readUInt16BE(0), reason: message.data.toString('utf8', 2) }
      }
    },
  }
}

/** A frame with any first bits, any length field and any mask. */
export function oddFrame(
  first: number,
  data: Buffer,
  { mask, length = data.length }: { mask?: Buffer; length?: number } = {},
): Buffer {
  const start =
    length > maxControlBytes ? Buffer.from([first, 126, length >> 8, length & 255]) : Buffer.from([first, length])
  if (mask) start[1] = (start[1] ?? 0) | 128
  const bytes = mask ? data.map((byte, index) => byte ^ (mask[index & 3] ?? 0)) : data
  return Buffer.concat([start, mask ?? Buffer.alloc(0), bytes])
}

/** Agrees to a handshake. `more` are header lines, `behind` comes in the same packet. */
export function agree(
  { headers }: Pick<IncomingMessage, 'headers'>,
  socket: Duplex,
  { more = [], behind = Buffer.alloc(0) }: { more?: string[]; behind?: Buffer } = {},
): Peer {
  const accept = `Sec-WebSocket-Accept: ${acceptOf(headers['sec-websocket-key'] ?? '')}`
  const lines = ['Upgrade: websocket', 'Connection: Upgrade', accept, ...more]
  const peer = peerOn(socket, { isServer: true })
  socket.write(Buffer.concat([head('101 Switching Protocols', ...lines), behind]))
  return peer
}

export interface Handshake {
  path?: string
  host: string
  headers?: string[]
  /** Sent behind the handshake, before its answer. */
  behind?: Buffer
}

export interface HandshakeReply {
  status: number
  /** Lower-case names. */
  headers: Record<string, string>
  /** Everything until the connection is closed, if it was refused. */
  body: string
  peer: Peer
}

export const clientKey = 'dGhlIHNhbXBsZSBub25jZQ=='

export async function shakeHands(
  socket: Duplex,
  { path = '/', host, headers = [], behind = Buffer.alloc(0) }: Handshake,
): Promise<HandshakeReply> {
  const lines = [`Host: ${host}`, 'Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Key: ${clientKey}`]
  const all = [`GET ${path} HTTP/1.1`, ...lines, 'Sec-WebSocket-Version: 13', ...headers, '', '']
  socket.write(Buffer.concat([Buffer.from(all.join('\r\n')), behind]))
  let received = Buffer.alloc(0)
  while (!received.includes('\r\n\r\n')) {
    const [chunk] = (await Promise.race([once(socket, 'data'), once(socket, 'close')])) as [Buffer | boolean]
    if (!Buffer.isBuffer(chunk)) throw new Error(`closed after ${received.toString('latin1')}`)
    received = Buffer.concat([received, chunk])
  }
  socket.pause()
  const end = received.indexOf('\r\n\r\n')
  const [first = '', ...rest] = received.toString('latin1', 0, end).split('\r\n')
  const status = Number(first.split(' ')[1])
  const named = Object.fromEntries(
    rest.map((line) => [line.split(':')[0]?.toLowerCase() ?? '', line.replace(/^[^:]*: */, '')]),
  )
  const more = received.subarray(end + 4)
  if (status === 101) {
    if (more.length > 0) socket.unshift(more)
    return { status, headers: named, body: '', peer: peerOn(socket, { isServer: false }) }
  }
  const chunks = [more, ...((await socket.toArray()) as Buffer[])]
  const body = Buffer.concat(chunks).toString()
  return { status, headers: named, body, peer: peerOn(socket, { isServer: false }) }
}
