/** The terms of a grant after a change. They stay within what the agent asked for, as in an approval. */
import type { Connection } from '../connections/connection.ts'
import { coversHostPattern } from '../grants/grant.ts'
import type { Grant } from '../grants/grant.ts'
import type { GrantTerms } from '../grants/narrower.ts'
import type { Provider } from '../providers/provider.ts'
import type { AccessRequest } from './access-request.ts'
import { grantedBy } from './decision.ts'
import type { Decision } from './decision.ts'

/** As sent. Absent: as it is. Null: what was asked for, or no limit. */
export type TermsChange = {
  [Name in keyof Omit<Decision, 'connectionId'>]?: Decision[Name] | null
}

export function changedTerms(
  change: TermsChange,
  grant: Grant & { connectionId: string },
  request: Pick<AccessRequest, 'hosts' | 'methods' | 'paths' | 'maxCalls'>,
  provider: Pick<Provider, 'apiHosts'>,
  connection: Pick<Connection, 'apiHost'>,
  now: Date,
): GrantTerms {
  const { connectionId, allowedHosts } = grant
  // A host that the provider has lost since stays in the grant, where it is refused.
  const listed = allowedHosts.filter((host) => provider.apiHosts.some((one) => coversHostPattern(one, host)))
  const decision: TermsChange = { ...termsOf(grant), allowedHosts: listed, ...change }
  const named = Object.entries(decision).filter(([, value]) => value !== null && value !== undefined)
  const granted = grantedBy(
    { connectionId, ...(Object.fromEntries(named) as Omit<Decision, 'connectionId'>) },
    request,
    provider,
    connection,
    now,
  )
  return change.allowedHosts === undefined ? { ...granted, allowedHosts } : granted
}

function termsOf(grant: Grant): TermsChange {
  const { allowedMethods, allowedPaths, maxCalls, expiresAt, mode, exceptions, maxAccess } = grant
  return {
    ...{ allowedMethods, allowedPaths, maxCalls, expiresAt: expiresAt?.toISOString(), mode, maxAccess },
    exceptions: exceptions.map(({ paths, methods, action }) => ({ paths, methods: methods ?? undefined, action })),
  }
}
