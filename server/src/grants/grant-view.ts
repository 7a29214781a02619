import type { Grant as GrantView } from '@sallyport/protocol/grants'
import type { Grant } from './grant.ts'
import type { GrantDescription } from './grant-store.ts'
import { statusOf } from './usable.ts'

/** The terms that say what calls may do and which ones wait, as in decisions and receipts. */
export function termsView({ mode, exceptions, maxAccess }: Pick<Grant, 'mode' | 'exceptions' | 'maxAccess'>) {
  return {
    mode,
    exceptions: exceptions.map(({ paths, methods, action }) => ({ paths, ...(methods && { methods }), action })),
    max_access: maxAccess,
  } satisfies Partial<GrantView>
}

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
    ...termsView(grant),
    calls: grant.calls,
    created_at: grant.createdAt.toISOString(),
    expires_at: grant.expiresAt?.toISOString() ?? null,
    last_used_at: grant.lastUsedAt?.toISOString() ?? null,
    revoked_at: grant.revokedAt?.toISOString() ?? null,
    revoked_by: grant.revokedBy,
    signed: description.isSigned,
  }
}
