/**
 * Says whether a call would be made, without making it, counting it, or putting it on record. It takes as much of the
 * agent's share of the load as the call would.
 */
import { errorKinds } from '@sallyport/protocol/errors'
import type { DryRunReply } from '@sallyport/protocol/proxy'
import type { CallingAgent } from '../agents/agent.ts'
import type { Grant } from '../grants/grant.ts'
import { statusOf } from '../grants/usable.ts'
import { ServiceError } from '../platform/errors.ts'
import { takeFromLimit } from '../platform/limits/rate-limits.ts'
import { redacted } from '../platform/secret.ts'
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
  const dropped = () => known.droppedHeaders ?? []
  try {
    // In a transaction, where what was counted is of this moment: a call would find it there too.
    const { name, prefix } = await needs.database.transaction(async (queries) => {
      const { route } = await judge(needs, caller, input, requestId, known, { queries })
      if (route.rate) await takeFromLimit(queries, route.rate.key, route.rate.limit, needs.clock())
      return route.injection
    })
    return {
      allowed: true,
      would_inject: { header: name, value: `${prefix}${redacted}` },
      dropped_headers: dropped(),
      grant: grant(),
    }
  } catch (error) {
    // What is malformed is no call that could be allowed; and too many are too many, also of these.
    if (!(error instanceof ServiceError) || [400, 429].includes(errorKinds[error.code].status)) throw error
    return { allowed: false, reason: error.code, would_inject: null, dropped_headers: dropped(), grant: grant() }
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
    calls: grant.calls,
    expires_at: grant.expiresAt?.toISOString() ?? null,
  }
}
