/**
 * Requests that reach us in plain text: gh's over its Unix socket, and those for https URLs that were sent to the proxy in
 * absolute form. They leave over TLS like those of any other tool.
 */
import { Agent, request as httpRequest } from 'node:http'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { codeOf } from '../config-folder.ts'
import { opened } from './opened.ts'
import { Refused } from './refused.ts'
import type { Target } from './target.ts'
import type { Ways } from './ways.ts'

/** Sends a request to a host, with this path. */
export type Forward = (target: Target, path: string, request: IncomingMessage, response: ServerResponse) => void

/** Shorter than any server waits: a connection that is about to be closed is not used again. */
const idleMs = 2000

/** `gatewayCa` (PEM) is trusted for granted hosts alone, and nothing else is trusted there. */
export function createForward(ways: Ways, gatewayCa: string): Forward & { close: () => void } {
  const agents = new Map<string, Agent>()
  const agentOf = (target: Target): Agent => {
    const { host } = target.url
    const known = agents.get(host)
    if (known) return known
    const agent = new Agent({ keepAlive: true, timeout: idleMs })
    agent.createConnection = (_options, created) => {
      secured(ways, target, gatewayCa).then(
        (socket) => created?.(null, socket),
        // Its type has no room for a failure.
        (error: unknown) => created?.(error as Error, undefined as unknown as Socket),
      )
      return undefined
    }
    agents.set(host, agent)
    return agent
  }

  const forward: Forward = (target, path, request, response) => {
    const headers = { ...endToEnd(request), host: target.url.host }
    const forwarded = httpRequest({ agent: agentOf(target), method: request.method, path, headers })
    forwarded.on('response', (answer) => {
      const { statusCode: status = 0, statusMessage: reason = '' } = answer
      if (status < 200) {
        forwarded.destroy(new Error('no final status'))
        return
      }
      // Node takes both from a server, but refuses to send them.
      response.writeHead(status, reason.replace(/[^\t\x20-\x7e\x80-\xff]/g, '?'), endToEnd(answer))
      answer.pipe(response)
      answer.once('error', () => response.destroy())
    })
    forwarded.once('error', (error) => {
      if (response.headersSent) response.destroy()
      else answerRefused(response, error instanceof Refused ? error : failed(target, error))
    })
    response.once('close', () => forwarded.destroy())
    request.pipe(forwarded)
  }
  const close = () => {
    for (const agent of agents.values()) agent.destroy()
  }
  return Object.assign(forward, { close })
}

async function secured(ways: Ways, target: Target, gatewayCa: string): Promise<Socket> {
  const socket = await ways.open(target)
  const name = isIP(target.host) === 0 ? { servername: target.host } : { host: target.host }
  const trust = ways.isGranted(target) ? { ca: gatewayCa } : {}
  return opened(connectTls({ socket, ...name, ...trust, ALPNProtocols: ['http/1.1'] }), 'secureConnect')
}

export function answerRefused(response: ServerResponse, { status, code, message }: Refused): void {
  const headers = { 'content-type': 'application/json', 'x-sallyport-error': code }
  response.writeHead(status, headers).end(JSON.stringify({ message, error: { code, message } }))
}

function failed({ url }: Target, error: Error): Refused {
  return new Refused(502, 'upstream_unreachable', `the connection to ${url.host} failed (${codeOf(error)})`)
}

const ofOneConnection = [
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'expect'],
]

/** RFC 9110 §7.6.1: without those that are for one connection only. */
function endToEnd({ headersDistinct }: IncomingMessage): OutgoingHttpHeaders {
  const named = (headersDistinct['connection'] ?? [])
    .join(',')
    .toLowerCase()
    .split(/[\s,]+/)
  return Object.fromEntries(
    Object.entries(headersDistinct).filter(([name]) => !ofOneConnection.includes(name) && !named.includes(name)),
  )
}
