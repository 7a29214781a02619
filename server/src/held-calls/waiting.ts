/**
 * Clients that wait for held calls to end. Whatever this process does to a call is told at once; what other instances do
 * is found by one query for all of them, twice a second while any client waits.
 */
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import type { Log } from '../platform/operations/log.ts'
import { hasEnded } from './held-call.ts'
import type { HeldCallStore } from './held-call-store.ts'

export interface Waiting {
  /** Resolves once the call has ended, after so many milliseconds, on `gone`, or when the service stops. */
  untilEnded: (callId: string, ms: number, gone: AbortSignal) => Promise<void>
  /** The call may have ended. */
  tell: (callId: string) => void
  /** Nobody waits any more from now on. */
  stop: () => void
}

interface WaitingNeeds {
  database: Database
  heldCallStore: HeldCallStore
  clock: Clock
  log: Log
}

const pollMs = 500
/** The number of parameters of a query is limited. */
const callsPerQuery = 500

export function createWaiting({ database, heldCallStore, clock, log }: WaitingNeeds): Waiting {
  const clients = new Map<string, Set<() => void>>()
  let isStopped = false
  let isAsking = false
  let timer: NodeJS.Timeout | undefined

  const check = async (callIds: readonly string[]) => {
    for (let from = 0; from < callIds.length; from += callsPerQuery) {
      const statuses = await heldCallStore.statusesOf(
        database.queries,
        callIds.slice(from, from + callsPerQuery),
        clock(),
      )
      for (const [callId, status] of statuses) {
        if (hasEnded({ status })) for (const end of clients.get(callId) ?? []) end()
      }
    }
  }
  const poll = () => {
    if (isAsking) return
    isAsking = true
    check([...clients.keys()])
      .catch((error: unknown) => {
        log.error({ err: error }, 'the held calls that clients wait for could not be read')
      })
      .finally(() => (isAsking = false))
  }

  return {
    untilEnded: (callId, ms, gone) =>
      new Promise((resolve) => {
        if (isStopped || gone.aborted) {
          resolve()
          return
        }
        const here = clients.get(callId) ?? new Set()
        const end = () => {
          clearTimeout(limit)
          gone.removeEventListener('abort', end)
          here.delete(end)
          if (here.size === 0 && clients.get(callId) === here) clients.delete(callId)
          if (clients.size === 0) {
            clearInterval(timer)
            timer = undefined
          }
          resolve()
        }
        const limit = setTimeout(end, ms)
        gone.addEventListener('abort', end)
        clients.set(callId, here.add(end))
        timer ??= setInterval(poll, pollMs)
        // It may have ended before anyone waited for it.
        poll()
      }),

    tell: (callId) => {
      if (clients.has(callId)) void check([callId]).catch(() => undefined)
    },

    stop: () => {
      isStopped = true
      for (const ends of [...clients.values()]) for (const end of [...ends]) end()
    },
  }
}
