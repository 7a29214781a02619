import type { Grant } from '@sallyport/sdk'

/** What a model needs to know of a grant to use it. */
export function grantFacts(grant: Grant): Record<string, unknown> {
  const { grant_id, kind, provider, status, calls, max_calls, expires_at } = grant
  const { allowed_hosts, allowed_methods, allowed_paths } = grant
  return {
    grant_id,
    kind,
    provider,
    status,
    allowed_hosts,
    allowed_methods,
    allowed_paths,
    calls,
    max_calls,
    expires_at,
  }
}
