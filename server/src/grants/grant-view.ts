import type { Grant as GrantView } from '@sallyport/protocol/grants'
import type { Grant } from './grant.ts'
import type { GrantDescription } from './grant-store.ts'
import { statusOf } from './usable.ts'

/** Only its user sees whose account it is. */
export function grantView(grant: Grant, description: GrantDescription, reader: 'agent' | 'user', now: Date): GrantView {
  return {
    grant_id: grant.grantId,
    kind: grant.kind,
    status: statusOf(grant, now),
    agent: { agent_id: grant.agentId, name: description.agentName },
    provider: description.providerSlug,
    provider_name: description.providerName,
    connection_id: grant.connectionId,
    account_label: reader === 'user' ? description.accountLabel : null,
    access_request_id: grant.accessRequestId,
    allowed_hosts: grant.allowedHosts,
    allowed_methods: grant.allowedMethods,
    allowed_paths: grant.allowedPaths,
    max_calls: grant.maxCalls,
    calls: grant.calls,
    created_at: grant.createdAt.toISOString(),
    expires_at: grant.expiresAt?.toISOString() ?? null,
    last_used_at: grant.lastUsedAt?.toISOString() ?? null,
    revoked_at: grant.revokedAt?.toISOString() ?? null,
    revoked_by: grant.revokedBy,
    signed: description.isSigned,
  }
}
