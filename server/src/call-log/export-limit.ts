/** Bounds how many exports run at once in this process: for each caller, for all agents, and for all people. */
import { ServiceError } from '../platform/errors.ts'

export const mostExports = { perCaller: 2, perGroup: 4 }
const retryAfterSeconds = 5

/** `begin` throws where too many run already. Call what it returns once the export has ended, however it did. */
export function createExportLimit(): { begin: (caller: string) => () => void } {
  const running = new Map<symbol, string>()
  return {
    begin: (caller) => {
      // Anyone can register any number of agents: they never take the places of people.
      const group = [...running.values()].filter((other) => isAgent(other) === isAgent(caller))
      const own = group.filter((other) => other === caller)
      if (own.length >= mostExports.perCaller || group.length >= mostExports.perGroup) {
        const message = 'Too many exports are running. Let one end, wait as Retry-After says, then ask again.'
        throw new ServiceError('rate_limited', { retryAfterSeconds, message })
      }
      const place = Symbol(caller)
      running.set(place, caller)
      return () => running.delete(place)
    },
  }
}

function isAgent(caller: string): boolean {
  return caller.startsWith('agent ')
}
