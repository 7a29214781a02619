import type {} from '../connections/connection-store.ts'
import type { Queries } from '../platform/database/database.ts'
import { prepared } from '../platform/database/prepared.ts'
import { memoizeByText } from '../platform/cache/memoize.ts'
import { cacheByVersion } from '../platform/cache/version-cache.ts'
import { fromTime } from '../platform/database/times.ts'
import type { Metadata } from '../platform/oauth/oauth-client.ts'
import type { AuthMethod } from '../providers/auth-method.ts'
import type { Injection } from '../providers/provider.ts'
import type {} from '../providers/provider-store.ts'
import { foundationOf, toGrant } from './grant-foundation-store.ts'
import type { Standing, StandingConnection, StandingProvider } from './standing.ts'

const findRows = prepared((queries: Queries, { grantId }: { grantId: string }) =>
  foundationOf(queries)
    .leftJoin('providers', 'providers.provider_id', 'connections.provider_id')
    .select([
      'connections.user_id as connection_user_id',
      'connections.auth_method',
      'connections.api_host',
      'connections.version',
      'connections.expires_at as token_expires_at',
      'connections.obtained_at',
      'connections.is_refreshed',
      'connections.refresh_lease_until',
      'connections.last_used_at as connection_last_used_at',
      'providers.slug',
      'providers.status as provider_status',
      'providers.source',
      'providers.preset',
      'providers.metadata',
      'providers.api_hosts',
      'providers.auth_methods',
      'providers.injection',
      'providers.allow_range',
      'providers.client_secret',
    ])
    .where('grants.grant_id', '=', grantId),
)

type Row = Awaited<ReturnType<typeof findRows>>[number]

const findStanding = cacheByVersion(async (queries: Queries, grantId: string): Promise<Standing | undefined> => {
  const [row] = await findRows(queries, { grantId })
  return row && { grant: toGrant(row), connection: toConnection(row), provider: toProvider(row) }
})

export const standingStore = {
  /** The number of calls and the time of the last one may be slightly out of date, except in a transaction. */
  find: (queries: Queries, agentId: string, grantId: string) => {
    // Another agent's grant does not exist for this one.
    const own = (standing: Standing | undefined) => (standing?.grant.agentId === agentId ? standing : undefined)
    const found = findStanding(queries, grantId)
    return found instanceof Promise ? found.then(own) : own(found)
  },
}

export type StandingStore = typeof standingStore

function toConnection(row: Row): StandingConnection | null {
  if (row.connection_id === null || row.connection_status === null) return null
  return {
    connectionId: row.connection_id,
    userId: row.connection_user_id ?? '',
    authMethod: row.auth_method ?? '',
    status: row.connection_status,
    apiHost: row.api_host,
    version: row.version ?? 0,
    expiresAt: fromTime(row.token_expires_at),
    obtainedAt: new Date(row.obtained_at ?? 0),
    isRefreshed: row.is_refreshed === 1,
    refreshLeaseUntil: fromTime(row.refresh_lease_until),
    lastUsedAt: fromTime(row.connection_last_used_at),
  }
}

/** Thousands of accounts of one provider have one copy of what it says of itself. */
const shared = memoizeByText((json) => JSON.parse(json) as unknown)

function toProvider(row: Row): StandingProvider | null {
  if (row.provider_status === null || row.source === null) return null
  return {
    slug: row.slug,
    status: row.provider_status,
    source: row.source,
    preset: row.preset,
    metadata: shared(row.metadata ?? '{}') as Metadata,
    apiHosts: shared(row.api_hosts ?? '[]') as string[],
    authMethods: shared(row.auth_methods ?? '[]') as AuthMethod[],
    injection: shared(row.injection ?? '{}') as Injection,
    allowRange: row.allow_range === 1,
    sealedClientSecret: row.client_secret,
  }
}
