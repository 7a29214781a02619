/**
 * The kill switch: a call in flight ends with its grant, or when its agent's token is replaced, on whichever instance
 * that happened. So the database is polled.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentStore } from '../agents/agent-store.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import { createActiveSet } from '../platform/active-set.ts'
import { ServiceError } from '../platform/errors.ts'
import type { GrantStore } from './grant-store.ts'
import { refusalFor, whyEnded } from './usable.ts'

/** The number of parameters of a query is limited. */
const keysPerQuery = 1_000

interface CallsInFlightNeeds {
  database: Database
  agents: Pick<AgentStore, 'findCurrent'>
  grants: GrantStore
  clock: Clock
}

export interface CallsInFlight {
  /** Until `done`, the call ends with its grant and its token. The signal's reason is the error to answer with. */
  begin: (grantId: string, tokenHash: Buffer) => { controller: AbortController; done: () => void }
  /** Ends the calls whose grants have ended. Does nothing if there are no calls, or if a check is running. */
  check: () => Promise<void>
  /** Ends every call, also those that begin later. Resolves once all of them are done. */
  endAll: (reason: Error) => Promise<void>
}

export function createCallsInFlight({ database, agents, grants, clock }: CallsInFlightNeeds): CallsInFlight {
  const calls = createActiveSet<{ controller: AbortController; grantId: string; token: string }>()
  let isAsking = false
  let endedBy: Error | undefined

  const endThoseOf = async (grantIds: string[]) => {
    const now = clock()
    for (const { grant, provider } of await grants.findEnded(database.queries, grantIds, now)) {
      // A connection that needs a new sign-in does not end calls: the token that they use is still valid.
      const reason = whyEnded({ grant, provider, connection: null, isTokenCurrent: true }, now)
      for (const call of calls.all())
        if (reason && call.grantId === grant.grantId) call.controller.abort(refusalFor(reason))
    }
  }

  const endThoseWith = async (tokens: string[]) => {
    const current = await agents.findCurrent(
      database.queries,
      tokens.map((token) => Buffer.from(token, 'hex')),
    )
    const replaced = new Set(tokens.filter((token) => !current.has(token)))
    for (const call of calls.all())
      if (replaced.has(call.token)) call.controller.abort(new ServiceError('unauthenticated'))
  }
  const inParts = async (keys: string[], end: (part: string[]) => Promise<void>) => {
    const all = [...new Set(keys)]
    for (let from = 0; from < all.length; from += keysPerQuery) await end(all.slice(from, from + keysPerQuery))
  }

  return {
    begin: (grantId, tokenHash) => {
      const controller = new AbortController()
      if (endedBy) controller.abort(endedBy)
      return { controller, done: calls.add({ controller, grantId, token: tokenHash.toString('hex') }) }
    },

    check: async () => {
      const underWay = calls.all()
      if (isAsking || underWay.length === 0) return
      isAsking = true
      try {
        await inParts(
          underWay.map(({ token }) => token),
          endThoseWith,
        )
        await inParts(
          underWay.map(({ grantId }) => grantId),
          endThoseOf,
        )
      } finally {
        isAsking = false
      }
    },

    endAll: async (reason) => {
      endedBy = reason
      for (const call of calls.all()) call.controller.abort(reason)
      while (calls.all().length > 0) await sleep(5)
    },
  }
}
