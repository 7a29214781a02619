/** Limits how many calls each agent has in flight in this process. Further calls are refused, not queued. */
import { ServiceError } from '../platform/errors.ts'

export interface AgentLoad {
  /** Takes a place or throws. Call the returned function to free it; calling it again has no effect. */
  enter: (agentId: string) => () => void
  /** The same, but undefined if there is no place. */
  tryEnter: (agentId: string) => (() => void) | undefined
  inFlight: () => number
}

/** `maxPerAgent` 0: no limit. */
export function createAgentLoad(maxPerAgent: number): AgentLoad {
  const places = new Map<string, number>()
  let inFlight = 0
  const tryEnter: AgentLoad['tryEnter'] = (agentId) => {
    const taken = places.get(agentId) ?? 0
    if (maxPerAgent > 0 && taken >= maxPerAgent) return undefined
    places.set(agentId, taken + 1)
    inFlight++
    let isIn = true
    return () => {
      if (!isIn) return
      isIn = false
      inFlight--
      const left = (places.get(agentId) ?? 1) - 1
      if (left === 0) places.delete(agentId)
      else places.set(agentId, left)
    }
  }
  return {
    tryEnter,
    enter: (agentId) => {
      const leave = tryEnter(agentId)
      if (leave) return leave
      const message = `This agent already has ${maxPerAgent} calls in progress. Wait until one of them has ended.`
      throw new ServiceError('rate_limited', { retryAfterSeconds: 1, message })
    },
    inFlight: () => inFlight,
  }
}
