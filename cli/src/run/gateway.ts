/** Connections to granted hosts: a CONNECT to the service's gateway, with the key of this run. */
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect as connectTcp, isIP, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { SallyportError } from '@sallyport/sdk'
import type { AgentClient } from '@sallyport/sdk'
import { codeOf } from '../config-folder.ts'
import { exitCodes } from '../exit-codes.ts'
import { CommandFailure } from '../failures.ts'
import { inLine } from '../terminal-text.ts'
import { dialOverService } from './gateway-over-service.ts'
import { opened } from './opened.ts'
import { Refused } from './refused.ts'
import type { Target } from './target.ts'

export interface Gateway {
  host: string
  port: number
  tls: boolean
  /** The key of the run, which is renewed before it expires. */
  key: () => string
  /** The service's own address, if the gateway's port can't be reached. */
  overService?: string
}

export type GatewayPlace = Pick<Gateway, 'host' | 'port' | 'tls'>

export async function openThroughGateway(gateway: Gateway, { url, port }: Target): Promise<Duplex> {
  const socket = await dial(gateway).catch((error: unknown) => {
    throw new Refused(502, 'gateway_unreachable', unreachable(gateway, codeOf(error)))
  })
  const answer = await ask(socket, `${url.hostname}:${port}`, gateway.key())
  if (answer.statusCode === 200) return socket
  socket.destroy()
  throw refusalIn(answer)
}

/** Sends CONNECT. What comes after the answer is left in the socket. */
function ask(socket: Duplex, authority: string, key: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const credential = Buffer.from(`run:${key}`).toString('base64')
    const asking = request({
      ...{ method: 'CONNECT', path: authority, createConnection: () => socket, timeout: answerMs },
      headers: { host: authority, 'proxy-authorization': `Basic ${credential}` },
    })
    asking.once('connect', (answer, _socket, head) => {
      if (socket instanceof Socket) socket.setTimeout(0)
      if (head.length > 0) socket.unshift(head)
      resolve(answer)
    })
    asking.once('timeout', () => asking.destroy(new Error('no answer')))
    asking.once('error', () => {
      reject(new Refused(502, 'gateway_unreachable', "Sallyport's gateway closed the connection"))
    })
    asking.end()
  })
}

function unreachable({ host, port }: { host: string; port: number }, reason: string): string {
  return `Sallyport's gateway at ${host}:${port} can't be reached (${reason})`
}

export async function findGateway(agent: AgentClient, signal: AbortSignal): Promise<GatewayPlace> {
  return agent.gateway({ signal }).catch((error: unknown) => {
    if (!(error instanceof SallyportError) || error.status !== 404) throw error
    throw new CommandFailure(exitCodes.unavailable, 'this service has no gateway, which tools need', {
      code: 'gateway_off',
      hint: 'Its operator turns it on with SALLYPORT_GATEWAY_PORT. Single calls work without: sallyport call.',
    })
  })
}

/** How it is reached: by its port or, where that is closed, through the service's own. */
export async function reachGateway(gateway: Gateway, baseUrl: string, say: (line: string) => void): Promise<Gateway> {
  const failure = await whyNotReached(gateway)
  if (failure === undefined) return gateway
  const over = { ...gateway, overService: baseUrl }
  if ((await whyNotReached(over)) !== undefined) {
    throw new CommandFailure(exitCodes.unavailable, unreachable(gateway, failure), {
      code: 'gateway_unreachable',
      hint: 'The service says that it listens there. Is that port open to this machine?',
    })
  }
  say(`${unreachable(gateway, failure)}: connections go through ${baseUrl}`)
  return over
}

async function whyNotReached(gateway: Gateway): Promise<string | undefined> {
  try {
    ;(await dial(gateway)).destroy()
    return undefined
  } catch (error) {
    return codeOf(error)
  }
}

function dial({ host, port, tls, key, overService }: Gateway): Promise<Duplex> {
  if (overService !== undefined) return dialOverService(overService, key())
  const place = { host, port, allowHalfOpen: true }
  return tls
    ? opened(connectTls({ ...place, ...(isIP(host) === 0 && { servername: host }) }), 'secureConnect')
    : opened(connectTcp(place), 'connect')
}

const answerMs = 30_000

/** The reason phrase is the service's sentence. */
function refusalIn({ statusCode = 502, statusMessage = '', headers }: IncomingMessage): Refused {
  if (statusCode === 407) return new Refused(403, 'unauthenticated', 'the key of this run has ended: start it again')
  const code = headers['x-sallyport-error']
  return new Refused(statusCode, typeof code === 'string' ? code : 'refused', inLine(statusMessage))
}
