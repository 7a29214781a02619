/**
 * Says whether a call would be allowed, without making, counting or recording it. It counts against the agent's rate
 * and calls in flight as the call would.
 */
import { errorKinds } from '@sallyport/protocol/errors'
import type { DryRunReply } from '@sallyport/protocol/proxy'
import type { CallingAgent } from '../agents/agent.ts'
import type { Grant } from '../grants/grant.ts'
import { termsView } from '../grants/grant-view.ts'
import { statusOf } from '../grants/usable.ts'
import { ServiceError } from '../platform/errors.ts'
import { takeFromLimit } from '../platform/limits/rate-limits.ts'
import type { Known, ProxyInput } from './call.ts'
import { judge } from './judge.ts'
import type { JudgeNeeds } from './judge.ts'

export async function dryRun(
  needs: JudgeNeeds,
  caller: CallingAgent,
  input: ProxyInput,
  requestId: string,
): Promise<DryRunReply> {
  const known: Known = {}
  const grant = () => (known.standing ? termsOf(known.standing.grant, needs.clock()) : null)
  const verdict = () => {
    const { action, access = null, term = null } = known.verdict ?? {}
    return { asks: action === 'ask', access, term }
  }
  const dropped = () => known.droppedHeaders ?? []
  try {
    // In a transaction, where the number of calls is current. Elsewhere it may be cached.
    const shown = await needs.database.transaction(async (queries) => {
      const options = { queries, isClassified: true }
      const { route, destination } = await judge(needs, caller, input, requestId, known, options)
      if (route.rate) await takeFromLimit(queries, route.rate.key, route.rate.limit, needs.clock())
      return route.injects.shownFor(destination)
    })
    return {
      allowed: true,
      ...verdict(),
      would_inject: shown,
      dropped_headers: dropped(),
      grant: grant(),
    }
  } catch (error) {
    // A malformed call is an error of its own, and rate limits apply to dry runs too.
    if (!(error instanceof ServiceError) || [400, 429].includes(errorKinds[error.code].status)) throw error
    return {
      allowed: false,
      ...verdict(),
      reason: error.code,
      would_inject: null,
      dropped_headers: dropped(),
      grant: grant(),
    }
  }
}

function termsOf(grant: Grant, now: Date): DryRunReply['grant'] {
  return {
    grant_id: grant.grantId,
    status: statusOf(grant, now),
    allowed_hosts: grant.allowedHosts,
    allowed_methods: grant.allowedMethods,
    allowed_paths: grant.allowedPaths,
    max_calls: grant.maxCalls,
    ...termsView(grant),
    calls: grant.calls,
    expires_at: grant.expiresAt?.toISOString() ?? null,
  }
}
