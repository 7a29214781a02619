/** Limits how many exports run in this process: per caller, for all agents, and for all users and admins. */
import { ServiceError } from '../platform/errors.ts'

const maxExports = { perCaller: 2, perGroup: 4 }
const retryAfterSeconds = 5

/** `begin` throws if too many are running. Call the returned function when the export has ended. */
export function createExportLimit(): { begin: (caller: string) => () => void } {
  const running = new Map<symbol, string>()
  return {
    begin: (caller) => {
      // Anyone can register any number of agents, so they have a limit separate from users.
      const group = [...running.values()].filter((other) => isAgent(other) === isAgent(caller))
      const own = group.filter((other) => other === caller)
      if (own.length >= maxExports.perCaller || group.length >= maxExports.perGroup) {
        const message = 'Too many exports are running. Wait for the time in Retry-After, then try again.'
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
