/**
 * The proxy that the command of a run is given: on loopback, for as long as the command runs, and only for those who have
 * the run's credential. It takes CONNECT, and requests for https URLs in absolute form, as some older programs send them.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { answerRefused } from './forward-request.ts'
import type { Forward } from './forward-request.ts'
import { joinSockets } from './join-sockets.ts'
import { Refused } from './refused.ts'
import { parseTarget, withPort } from './target.ts'
import type { Ways } from './ways.ts'

export interface Listener {
  port: number
  /** Closes it with all connections. */
  close: () => Promise<void>
}

export interface ListenerNeeds {
  ways: Ways
  forward: Forward
  isAllowed: (request: IncomingMessage) => boolean
}

export async function startListener({ ways, forward, isAllowed }: ListenerNeeds): Promise<Listener> {
  const server = createServer({ maxHeaderSize: 32 * 1024, requestTimeout: 0 }, (request, response) => {
    answer(request, response)
  })
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    if (!isAllowed(request)) {
      response.writeHead(407, { 'proxy-authenticate': challenge, connection: 'close' }).end()
      return
    }
    const { url = '' } = request
    const [, scheme = '', authority = '', path = ''] = /^(https?):\/\/([^/?#]+)([/?#].*)?$/i.exec(url) ?? []
    const target = scheme.toLowerCase() === 'https' ? parseTarget(withPort(authority)) : undefined
    if (target) {
      forward(target, path.startsWith('/') ? path : `/${path}`, request, response)
      return
    }
    const isPlain = scheme.toLowerCase() === 'http'
    const sentence = isPlain ? `http://${authority} is not reached: use https` : 'this is the proxy of sallyport run'
    const refused = new Refused(400, 'invalid_request', sentence)
    if (isPlain) ways.refuse(authority, refused)
    answerRefused(response, refused)
  }

  const tunnels = new Set<Duplex>()
  const connect = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    socket.on('error', () => undefined)
    tunnels.add(socket)
    socket.once('close', () => tunnels.delete(socket))
    if (!isAllowed(request)) {
      socket.end(`HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: ${challenge}\r\n${ended}`)
      return
    }
    const target = parseTarget(request.url ?? '')
    if (!target) {
      socket.end(refusalText(new Refused(400, 'invalid_request', 'CONNECT takes HOST:PORT')))
      return
    }
    try {
      const upstream = await ways.open(target)
      if (socket.destroyed) {
        upstream.destroy()
        return
      }
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      if (head.length > 0) upstream.write(head)
      joinSockets(socket, upstream)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      socket.end(refusalText(error))
    }
  }
  server.on('connect', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    void connect(request, socket, head)
  })
  server.on('upgrade', (_request: IncomingMessage, socket: Duplex) => {
    // Its client may be gone.
    socket.on('error', () => undefined)
    socket.end(refusalText(new Refused(501, 'not_supported', 'WebSockets need CONNECT')))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    close: () => {
      for (const socket of tunnels) socket.destroy()
      return closed(server)
    },
  }
}

/** Lets what is being written out go first. */
export async function closed(server: Server): Promise<void> {
  const closing = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closing
}

const challenge = 'Basic realm="sallyport run"'
const ended = 'Content-Length: 0\r\nConnection: close\r\n\r\n'

/** The sentence is the reason phrase, which some tools show, and the message of the body. */
function refusalText({ status, code, message }: Refused): string {
  const body = JSON.stringify({ message, error: { code, message } })
  const reason = message.replace(/[^\x20-\x7e]/g, '?')
  const head = ['Content-Type: application/json', `X-Sallyport-Error: ${code.replace(/\W/g, '')}`]
  const lines = [
    `HTTP/1.1 ${status} ${reason}`,
    ...head,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}
