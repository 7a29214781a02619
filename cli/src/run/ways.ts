/** Opens a tool's connections, and says once on the terminal why one was refused: most tools show nothing. */
import type { Duplex } from 'node:stream'
import { connectDirectly } from './connect-directly.ts'
import type { Lookup } from './connect-directly.ts'
import { openThroughGateway } from './gateway.ts'
import type { Gateway } from './gateway.ts'
import { Refused } from './refused.ts'
import { chooseWay } from './target.ts'
import type { OtherHosts, Target } from './target.ts'

export interface WaysOptions {
  gateway: Gateway
  /** Of the grants, as `allowed_hosts`. */
  grantedHosts: string[]
  otherHosts: OtherHosts
  lookup: Lookup
  say: (line: string) => void
}

export interface Ways {
  isGranted: (target: Target) => boolean
  /** Whether a connection to the gateway is open. */
  isGatewayInUse: () => boolean
  /** Rejects with `Refused`. */
  open: (target: Target) => Promise<Duplex>
  /** Says it, the first time for this host. */
  refuse: (host: string, refused: Refused) => void
}

export function createWays({ gateway, grantedHosts, otherHosts, lookup, say }: WaysOptions): Ways {
  const said = new Set<string>()
  const throughGateway = new Set<Duplex>()
  const refuse = (host: string, { message }: Refused) => {
    const line = message.includes(host) ? message : `${host}: ${message}`
    if (said.has(line) || said.size >= mostLines) return
    said.add(line)
    say(line)
  }
  const open = async (target: Target): Promise<Duplex> => {
    const way = chooseWay(target, grantedHosts, otherHosts)
    if (way === 'gateway') {
      const socket = await openThroughGateway(gateway, target)
      throughGateway.add(socket)
      socket.once('close', () => throughGateway.delete(socket))
      return socket
    }
    if (way === 'direct') return connectDirectly(target, lookup)
    throw new Refused(
      403,
      'host_not_allowed',
      `no grant of this run covers ${target.url.host}, and other hosts are denied`,
    )
  }
  return {
    refuse,
    isGatewayInUse: () => throughGateway.size > 0,
    isGranted: (target) => chooseWay(target, grantedHosts, otherHosts) === 'gateway',
    open: async (target) => {
      try {
        return await open(target)
      } catch (error) {
        const refused = error instanceof Refused ? error : new Refused(502, 'internal', String(error))
        refuse(target.host, refused)
        throw refused
      }
    },
  }
}

/** A program that tries ever new hosts does not fill the terminal. */
const mostLines = 200
