/** Tools for attacks: a client with many addresses, a rate, and connections that stay open. */
import { once } from 'node:events'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { callService } from '../e2e/http-call.ts'
import type { Call, Reply } from '../e2e/http-call.ts'

export interface AgentCredentials {
  token: string
  grantId: string
}

/** What attackers know: the service's port, its upstream, and an approved agent. */
export interface Victim {
  port: number
  upstreamHost: string
  approved: AgentCredentials
}

/** Rotates through 100 client addresses. */
interface ManyAddresses {
  call: (method: string, path: string, call?: Call) => Promise<Reply>
  open: () => Promise<Socket>
  /** Sends these bytes on a new connection, and returns the status of the response. */
  send: (bytes: string) => Promise<string>
}

interface Pace {
  /** That often a second, unless too many still wait for their response. Resolves when the attack ends. */
  repeat: (perSecond: number, act: (index: number) => Promise<number | string>) => Promise<void>
  /** Keeps that many connections open, and replaces those that close, and each after 30 to 60 seconds. */
  hold: (count: number, begin: (socket: Socket, index: number) => unknown) => Promise<void>
}

export interface Attacker extends Victim, ManyAddresses, Pace {
  /** Self-registered agents with a sandbox. */
  strangers: AgentCredentials[]
}

/** Attacks by name. The name describes what the service has to withstand. */
export type Attacks = Record<string, (attacker: Attacker) => Promise<void>>

/** Counts by HTTP status or event. */
export type Tally = Record<string, number>

/** All of 127.0.0.0/8 is loopback, and each address is a different client to the service. */
const addresses = Array.from({ length: 100 }, (_, index) => `127.0.1.${index + 1}`)
const mostPending = 32
const answerMs = 30_000
/** Opening all connections at once, or reopening them immediately, would be a flood of its own. */
const openEveryMs = 20
const reopenMs = 500
/** A client that does not read never notices that the service has closed its connection. */
const renewMs = 30_000

export interface Extent {
  /** Ends the attacks. */
  signal: AbortSignal
  /** Multiplies rates and numbers of connections. */
  intensity: number
}

/** Runs all attacks at the same time. Resolves with the counts of each. */
export async function runAttacks(attacks: Attacks, victim: Victim, extent: Extent): Promise<Record<string, Tally>> {
  const { destroy, ...client } = manyAddresses(victim.port)
  const strangers: AgentCredentials[] = []
  const tallies: Record<string, Tally> = {}
  const running = Object.entries(attacks).map(([name, attack]) => {
    const tally: Tally = (tallies[name] = {})
    return attack({ ...victim, ...client, ...pace(client, tally, extent), strangers })
  })
  await Promise.all(running)
  destroy()
  return tallies
}

function manyAddresses(port: number): ManyAddresses & { destroy: () => void } {
  const sockets = new Set<Socket>()
  const agents = addresses.map((localAddress) => new Agent({ keepAlive: true, localAddress, timeout: answerMs }))
  let turn = 0
  const open = async () => {
    const localAddress = addresses[turn++ % addresses.length]
    const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true })
    socket.on('error', () => undefined)
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    await once(socket, 'connect')
    return socket
  }
  return {
    open,
    call: (method, path, call = {}) => {
      const agent = agents[turn++ % agents.length] as Agent
      return callService({ PORT: String(port) }, agent, method, path, call)
    },
    send: async (bytes) => {
      const socket = await open()
      socket.write(bytes)
      const [answer] = (await once(socket, 'data', { signal: AbortSignal.timeout(answerMs) })) as [Buffer]
      socket.resetAndDestroy()
      return answer.toString('latin1', 9, 12)
    },
    destroy: () => {
      for (const agent of agents) agent.destroy()
      for (const socket of sockets) socket.resetAndDestroy()
    },
  }
}

function pace({ open }: ManyAddresses, tally: Tally, { signal, intensity }: Extent): Pace {
  const count = (what: number | string) => {
    if (!signal.aborted) tally[what] = (tally[what] ?? 0) + 1
  }
  const keepOpen = async (index: number, begin: (socket: Socket, index: number) => unknown) => {
    const socket = await open()
    count('opened')
    const closed = once(socket, 'close', { signal })
    begin(socket, index)
    await Promise.race([closed, sleep(renewMs + (index % 30) * 1000, undefined, { signal })])
    socket.resetAndDestroy()
  }
  return {
    repeat: async (perSecond, act) => {
      let index = 0
      let pending = 0
      const attempt = async () => {
        if (pending >= mostPending) {
          count('left out')
          return
        }
        pending++
        count('sent')
        await act(index++).then(count, (error: unknown) => {
          count(codeOf(error))
        })
        pending--
      }
      void attempt()
      const timer = setInterval(() => void attempt(), 1000 / (perSecond * intensity))
      await once(signal, 'abort')
      clearInterval(timer)
    },
    hold: async (connections, begin) => {
      const holdOne = async (_: unknown, index: number) => {
        // Spread over time.
        await sleep(index * openEveryMs)
        while (!signal.aborted) {
          await keepOpen(index, begin).catch(() => undefined)
          await sleep(reopenMs)
        }
      }
      await Promise.all(Array.from({ length: Math.ceil(connections * intensity) }, holdOne))
    },
  }
}

function codeOf(error: unknown): string {
  const { code, name } = error as { code?: string; name: string }
  return code ?? name
}

/** A raw request, for what no HTTP client would send. */
export function rawRequest(
  { port }: Pick<Victim, 'port'>,
  line: string,
  headers: string[] = [],
  body?: string,
): string {
  const type = 'Content-Type: application/json'
  const framing = body === undefined ? [] : [type, `Content-Length: ${Buffer.byteLength(body)}`]
  return [line, `Host: localhost:${port}`, ...headers, ...framing].join('\r\n') + `\r\n\r\n${body ?? ''}`
}
