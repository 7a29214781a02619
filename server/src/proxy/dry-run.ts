/** Says whether a call would be made, without making it, counting it, or putting it on record. */
import { errorKinds } from '@sallyport/protocol/errors'
import type { DryRunReply } from '@sallyport/protocol/proxy'
import type { Agent } from '../agents/agent.ts'
import { statusOf } from '../grants/grant.ts'
import type { Grant } from '../grants/grant.ts'
import { ServiceError } from '../platform/errors.ts'
import { redacted } from '../platform/secret.ts'
import type { Known, ProxyInput } from './call.ts'
import { judge } from './judge.ts'
import type { JudgeNeeds } from './judge.ts'

export async function dryRun(
  needs: JudgeNeeds,
  agent: Agent,
  input: ProxyInput,
  requestId: string,
): Promise<DryRunReply> {
  const known: Known = {}
  const grant = () => (known.standing ? termsOf(known.standing.grant, needs.clock()) : null)
  try {
    const { route } = await judge(needs, agent, input, requestId, known)
    const { name, prefix } = route.injection
    return { allowed: true, would_inject: { header: name, value: `${prefix}${redacted}` }, grant: grant() }
  } catch (error) {
    // What is malformed is no call that could be allowed.
    if (!(error instanceof ServiceError) || errorKinds[error.code].status === 400) throw error
    return { allowed: false, reason: error.code, would_inject: null, grant: grant() }
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
