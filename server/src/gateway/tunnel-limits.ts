/** What one agent may open at this process: tunnels, and names for which a certificate has to be issued. */
import { ServiceError } from '../platform/errors.ts'

export const tunnelLimits = { tunnels: 100, connectsPerSecond: 20, namesPerMinute: 20 }

export interface TunnelLimits {
  /** Throws if the agent asks too often. */
  takeConnect: (agentId: string) => void
  /** Throws if the agent asks for too many names that have no certificate yet. */
  takeName: (agentId: string) => void
  /** Throws if the agent has too many tunnels open. Call the returned function once. */
  enter: (agentId: string) => () => void
  open: () => number
}

interface Taken {
  connects: number[]
  names: number[]
  tunnels: number
}

const minuteMs = 60_000
const secondMs = 1000

export function createTunnelLimits(): TunnelLimits {
  const agents = new Map<string, Taken>()
  let open = 0
  const takenBy = (agentId: string): Taken => {
    const known = agents.get(agentId)
    if (known) return known
    forgetIdle(agents)
    const taken = { connects: [], names: [], tunnels: 0 }
    agents.set(agentId, taken)
    return taken
  }
  return {
    takeConnect: (agentId) => {
      takeWithin(
        takenBy(agentId).connects,
        tunnelLimits.connectsPerSecond,
        secondMs,
        'This agent opens too many tunnels.',
      )
    },
    takeName: (agentId) => {
      takeWithin(takenBy(agentId).names, tunnelLimits.namesPerMinute, minuteMs, 'This agent calls too many new hosts.')
    },
    enter: (agentId) => {
      const taken = takenBy(agentId)
      if (taken.tunnels >= tunnelLimits.tunnels) {
        const message = `This agent already has ${tunnelLimits.tunnels} tunnels open. Close some.`
        throw new ServiceError('rate_limited', { retryAfterSeconds: 1, message })
      }
      taken.tunnels++
      open++
      return () => {
        taken.tunnels--
        open--
      }
    },
    open: () => open,
  }
}

/** Throws if there were that many within the time. */
function takeWithin(times: number[], most: number, withinMs: number, complaint: string): void {
  const now = performance.now()
  while (times.length > 0 && now - (times[0] ?? 0) >= withinMs) times.shift()
  if (times.length >= most) {
    const waitMs = withinMs - (now - (times[0] ?? 0))
    const message = `${complaint} Wait for the time in Retry-After.`
    throw new ServiceError('rate_limited', { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)), message })
  }
  times.push(now)
}

const mostAgents = 10_000

function forgetIdle(agents: Map<string, Taken>): void {
  if (agents.size < mostAgents) return
  const now = performance.now()
  const isOver = (times: number[], withinMs: number) => now - (times.at(-1) ?? -Infinity) >= withinMs
  for (const [agentId, { connects, names, tunnels }] of agents) {
    if (tunnels === 0 && isOver(connects, secondMs) && isOver(names, minuteMs)) agents.delete(agentId)
  }
}
