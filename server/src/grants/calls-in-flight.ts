/**
 * The kill switch: a call in flight ends with its grant, when its grant no longer covers it, when its agent's token is
 * replaced or its key for tools ends, or when its host is removed from the provider, on whichever instance that happened.
 * So the database is polled.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentStore } from '../agents/agent-store.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { createActiveSet } from '../platform/active-set.ts'
import { ServiceError } from '../platform/errors.ts'
import { matchesHost } from '../providers/api-hosts.ts'
import type { GrantStore } from './grant-store.ts'
import type { Grant, JudgedGrant } from './grant.ts'
import { refusalFor, whyEnded } from './usable.ts'

/** The number of parameters of a query is limited. */
const keysPerQuery = 1_000

interface CallsInFlightNeeds {
  database: Database
  agents: Pick<AgentStore, 'findCurrent'>
  grants: GrantStore
  /** Which of these hashes are of keys for tools that have not ended, in hex. */
  findCurrentKeys: (queries: Queries, keyHashes: readonly Buffer[], now: Date) => Promise<Set<string>>
  clock: Clock
}

export interface BegunCall {
  controller: AbortController
  /** From then on the call also ends if its provider no longer lists this host. */
  isAt: (host: string) => void
  done: () => void
}

export interface FlyingCall {
  tokenHash: Buffer
  keyHash?: Buffer | undefined
  /** Why the grant with these terms doesn't allow the call. Undefined if it does. */
  whyUncovered?: (grant: Grant) => ServiceError | undefined
}

export interface CallsInFlight {
  /** Until `done`, the call ends with its grant, its token and its key. The signal's reason is the error to answer with. */
  begin: (judged: JudgedGrant, call: FlyingCall) => BegunCall
  /** Ends the calls whose grants have ended, or whose hosts were removed. Does nothing if there are no calls, or if a check is running. */
  check: () => Promise<void>
  /** Ends every call, also those that begin later. Resolves once all of them are done. */
  endAll: (reason: Error) => Promise<void>
}

interface UnderWay {
  controller: AbortController
  grantId: string
  /** Of the terms that it was judged by last. */
  termsVersion: number
  whyUncovered: FlyingCall['whyUncovered']
  /** Hashes, in hex. */
  token: string
  key: string | undefined
  host: string | null
}

export function createCallsInFlight(needs: CallsInFlightNeeds): CallsInFlight {
  const { database, agents, grants, findCurrentKeys, clock } = needs
  const calls = createActiveSet<UnderWay>()
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

  const endThoseWith = async (hashes: string[], member: 'token' | 'key') => {
    const bytes = hashes.map((hash) => Buffer.from(hash, 'hex'))
    const current =
      member === 'token'
        ? await agents.findCurrent(database.queries, bytes)
        : await findCurrentKeys(database.queries, bytes, clock())
    const ended = new Set(hashes.filter((hash) => !current.has(hash)))
    for (const { controller, [member]: hash } of calls.all())
      if (hash !== undefined && ended.has(hash)) controller.abort(new ServiceError('unauthenticated'))
  }

  /** With the oldest version of each grant: if it is the current one, so are the others. */
  const endUncovered = async (grantIds: string[]) => {
    const oldest = new Map<string, number>()
    for (const { grantId, termsVersion } of calls.all()) {
      oldest.set(grantId, Math.min(termsVersion, oldest.get(grantId) ?? termsVersion))
    }
    const judged = grantIds.map((grantId) => ({ grantId, termsVersion: oldest.get(grantId) ?? 0 }))
    for (const grant of await grants.findChanged(database.queries, judged)) {
      for (const call of calls.all()) {
        if (call.grantId !== grant.grantId || call.termsVersion >= grant.termsVersion) continue
        call.termsVersion = grant.termsVersion
        const reason = call.whyUncovered?.(grant)
        if (reason) call.controller.abort(reason)
      }
    }
  }

  const endThoseAtRemovedHosts = async (grantIds: string[]) => {
    const listed = await grants.apiHostsOf(database.queries, grantIds)
    for (const { grantId, host, controller } of calls.all()) {
      const apiHosts = listed.get(grantId)
      const isRemoved = host !== null && apiHosts && !apiHosts.some((entry) => matchesHost(entry, host))
      if (isRemoved) controller.abort(new ServiceError('host_not_allowed', { field: 'url' }))
    }
  }
  const inParts = async (keys: string[], end: (part: string[]) => Promise<void>) => {
    const all = [...new Set(keys)]
    for (let from = 0; from < all.length; from += keysPerQuery) await end(all.slice(from, from + keysPerQuery))
  }

  return {
    begin: ({ grantId, termsVersion }, { tokenHash, keyHash, whyUncovered }) => {
      const controller = new AbortController()
      if (endedBy) controller.abort(endedBy)
      const [token, key] = [tokenHash.toString('hex'), keyHash?.toString('hex')]
      const call: UnderWay = { controller, grantId, termsVersion, whyUncovered, token, key, host: null }
      const done = calls.add(call)
      const isAt = (host: string) => {
        call.host = host
      }
      return { controller, isAt, done }
    },

    check: async () => {
      const underWay = calls.all()
      if (isAsking || underWay.length === 0) return
      isAsking = true
      try {
        await inParts(
          underWay.map(({ token }) => token),
          (tokens) => endThoseWith(tokens, 'token'),
        )
        await inParts(
          underWay.flatMap(({ key }) => key ?? []),
          (keys) => endThoseWith(keys, 'key'),
        )
        await inParts(
          underWay.map(({ grantId }) => grantId),
          endThoseOf,
        )
        await inParts(
          underWay.map(({ grantId }) => grantId),
          endThoseAtRemovedHosts,
        )
        await inParts(
          underWay.map(({ grantId }) => grantId),
          endUncovered,
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
