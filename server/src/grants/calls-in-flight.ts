/**
 * The kill switch: a call that is under way ends when its grant does, whichever instance was told. The database is asked,
 * because nobody else knows what the other instances were told.
 */
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import { createCrowd } from '../platform/crowd.ts'
import { ServiceError } from '../platform/errors.ts'
import { createStop } from '../platform/stop-signal.ts'
import type { Stop } from '../platform/stop-signal.ts'
import { endOf } from './grant.ts'
import type { GrantStore } from './grant-store.ts'
import { providerDisabled } from './standing.ts'

/** A query takes only so many parameters. */
const atOnce = 1_000

interface CallsInFlightNeeds {
  database: Database
  grants: GrantStore
  clock: Clock
}

export interface CallsInFlight {
  /** From now on until it is done the call ends with its grant: the signal's reason is the error to answer with. */
  begin: (grantId: string) => Stop & { done: () => void }
  /** Ends the calls whose grants have ended. Asks nothing while there is none, or while it is asking already. */
  check: () => Promise<void>
}

export function createCallsInFlight({ database, grants, clock }: CallsInFlightNeeds): CallsInFlight {
  const calls = createCrowd<Stop & { grantId: string }>()
  let isAsking = false

  const endThoseOf = async (grantIds: string[]) => {
    const now = clock()
    const ended = await grants.findEnded(database.queries, grantIds, now)
    for (const { grant, isAgentDisabled, isProviderDisabled } of ended) {
      const code = isAgentDisabled ? 'unauthenticated' : endOf(grant, now)
      const reason = code ? new ServiceError(code) : isProviderDisabled ? providerDisabled() : undefined
      for (const call of calls.all()) if (reason && call.grantId === grant.grantId) call.abort(reason)
    }
  }

  return {
    begin: (grantId) => {
      const { signal, abort } = createStop()
      return { signal, abort, done: calls.enter({ grantId, signal, abort }) }
    },

    check: async () => {
      const underWay = [...new Set(calls.all().map(({ grantId }) => grantId))]
      if (isAsking || underWay.length === 0) return
      isAsking = true
      try {
        for (let from = 0; from < underWay.length; from += atOnce) await endThoseOf(underWay.slice(from, from + atOnce))
      } finally {
        isAsking = false
      }
    },
  }
}
