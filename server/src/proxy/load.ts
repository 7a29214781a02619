/** How many calls each agent has under way in this process. Past its share it has to wait: nothing is queued here. */
import { ServiceError } from '../platform/errors.ts'

export interface AgentLoad {
  /** Takes a place, or refuses; what it returns gives the place back, once. */
  enter: (agentId: string) => () => void
  inFlight: () => number
}

/** `mostPerAgent` 0: as many as come. */
export function createAgentLoad(mostPerAgent: number): AgentLoad {
  const places = new Map<string, number>()
  let inFlight = 0
  return {
    enter: (agentId) => {
      const taken = places.get(agentId) ?? 0
      if (mostPerAgent > 0 && taken >= mostPerAgent) {
        const message = `This agent has ${mostPerAgent} calls under way already. Wait until one of them has ended.`
        throw new ServiceError('rate_limited', { retryAfterSeconds: 1, message })
      }
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
    },
    inFlight: () => inFlight,
  }
}
