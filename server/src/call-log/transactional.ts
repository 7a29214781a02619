/**
 * Writes entries of the call log, step by step, in one transaction: the specification of the log, on every database. An
 * entry that is refused leaves the others alone.
 */
import type { AgentStore } from '../agents/agent-store.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import type { ConnectionStore } from '../connections/connection-store.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import type { StandingStore } from '../grants/standing-store.ts'
import { assertUsable } from '../grants/usable.ts'
import type { Clock } from '../platform/clock.ts'
import type { Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { matchesHost } from '../providers/api-hosts.ts'
import { connectionsToMark, isCounted, isHop, toRecord } from './entry.ts'
import type { Entry, LoggedCall } from './entry.ts'
import type { PrepaidCalls } from './prepaid-calls.ts'

export interface TransactionalNeeds {
  agents: AgentStore
  grants: GrantStore
  standings: StandingStore
  connections: Pick<ConnectionStore, 'markUsed'>
  audit: Pick<AuditLog, 'appendAll'>
  clock: Clock
}

export function createTransactional(needs: TransactionalNeeds, prepaid: Pick<PrepaidCalls, 'take'>) {
  const { agents, audit, clock } = needs

  const assertStillUsable = async (tx: Queries, call: LoggedCall, at: Date, { mayBeExhausted } = begun) => {
    const isTokenCurrent = (await agents.findCurrent(tx, [call.tokenHash])).size > 0
    const standing = await needs.standings.find(tx, call.agentId, call.standing.grant.grantId)
    if (!standing) throw new ServiceError('grant_not_found', { field: 'grant_id' })
    assertUsable({ ...standing, isTokenCurrent }, at, { mayBeExhausted })
    if (standing.grant.termsVersion !== call.standing.grant.termsVersion) throw changedTerms()
    const { provider } = standing
    if (provider && !provider.apiHosts.some((entry) => matchesHost(entry, call.destination.host))) {
      throw new ServiceError('host_not_allowed', { field: 'url' })
    }
  }

  /** Throws the reason why the call was not counted. */
  const explain = async (tx: Queries, call: LoggedCall, at: Date) => {
    await assertStillUsable(tx, call, at, { mayBeExhausted: false })
    throw new ServiceError('grant_not_found', { field: 'grant_id' })
  }

  /** The refusal of each entry, by index: of the token, the rate, then the grant and what it depends on. */
  const judgeAll = async (tx: Queries, entries: readonly Entry[], at: Date) => {
    const refusals: (ServiceError | undefined)[] = entries.map(() => undefined)
    const settle = async (index: number, work: Promise<unknown>) => {
      refusals[index] = await refusalOf(work)
    }
    const accepted = () => [...entries.entries()].filter(([index, entry]) => isCounted(entry) && !refusals[index])
    for (const [index, entry] of entries.entries()) {
      if (isHop(entry)) await settle(index, assertStillUsable(tx, entry.call, at))
    }
    const tokens = accepted().map(([, { call }]) => call.tokenHash)
    const current = await agents.findCurrent(tx, tokens)
    for (const [index, { call }] of accepted()) {
      if (!current.has(call.tokenHash.toString('hex'))) refusals[index] = new ServiceError('unauthenticated')
    }
    const takings = accepted().flatMap(([index, { call }]) => {
      const taking = call.route.rate && prepaid.take(tx, call.route.rate, at)
      return taking ? [settle(index, taking)] : []
    })
    await Promise.all(takings)
    const counting = accepted()
    const judged = counting.map(([, { call }]) => call.standing.grant)
    const counted = await needs.grants.countCalls(tx, judged, at)
    for (const [place, [index, { call }]] of counting.entries()) {
      if (!counted[place]) await settle(index, explain(tx, call, at))
    }
    return refusals
  }

  return {
    assertStillUsable,

    write: async (tx: Queries, entries: readonly Entry[]) => {
      const at = clock()
      const refusals = await judgeAll(tx, entries, at)
      const accepted = entries.filter((_, index) => !refusals[index])
      const calls = accepted.filter(isCounted).map(({ call }) => call)
      for (const connection of connectionsToMark(calls, at)) {
        await needs.connections.markUsed(tx, connection.connectionId, at)
        // The cached standing is shared by other calls.
        connection.lastUsedAt = at
      }
      const records = accepted.map((entry) => toRecord(entry, at))
      audit.appendAll(tx, records)
      return refusals
    },
  }
}

/** It may still be allowed: the agent finds out by making it again. */
function changedTerms(): ServiceError {
  const message = 'The terms of the grant changed while this call was made, so it went no further. Make it again.'
  return new ServiceError('conflict', { field: 'grant_id', message })
}

/** A call that used up its grant can continue. */
const begun = { mayBeExhausted: true }

async function refusalOf(work: Promise<unknown>): Promise<ServiceError | undefined> {
  try {
    await work
    return undefined
  } catch (error) {
    if (error instanceof ServiceError) return error
    throw error
  }
}
