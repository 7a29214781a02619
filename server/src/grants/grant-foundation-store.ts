/** Reads grants: the row, its usage, and what the grant depends on. */
import type { GrantMode, MaxAccess } from '@sallyport/protocol/grant-terms'
import { sql } from 'kysely'
import type { ConnectionStatus } from '../connections/connection.ts'
import type {} from '../connections/connection-store.ts'
import type { Queries } from '../platform/database/database.ts'
import { isPausedFor } from '../pauses/pause-store.ts'
import { fromTime } from '../platform/database/times.ts'
import type {} from '../sessions/user-store.ts'
import type { UsageRow } from './grant-usage-store.ts'
import type { Grant, GrantException, RevokedBy } from './grant.ts'
import { isCutOff } from './usable.ts'

interface GrantRow {
  grant_id: string
  agent_id: string
  kind: Grant['kind']
  user_id: string | null
  connection_id: string | null
  access_request_id: string | null
  allowed_hosts: string
  allowed_methods: string | null
  allowed_paths: string | null
  max_calls: number | null
  mode: GrantMode
  exceptions: string
  max_access: MaxAccess | null
  created_at: number
  expires_at: number | null
  revoked_at: number | null
  revoked_by: RevokedBy | null
  is_signed: number
  receipt: string | null
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    grants: GrantRow
  }
}

const columns = [
  'grants.grant_id',
  'grants.agent_id',
  'grants.kind',
  'grants.user_id',
  'grants.connection_id',
  'grants.access_request_id',
  'grants.allowed_hosts',
  'grants.allowed_methods',
  'grants.allowed_paths',
  'grants.max_calls',
  'grants.mode',
  'grants.exceptions',
  'grants.max_access',
  'grant_usage.calls',
  'grant_usage.last_used_at',
  'grant_usage.terms_version',
  'grants.created_at',
  'grants.expires_at',
  'grants.revoked_at',
  'grants.revoked_by',
] as const

type FoundationRow = Omit<GrantRow, 'receipt' | 'is_signed'> &
  Omit<UsageRow, 'is_open'> & {
    connection_status: ConnectionStatus | null
    user_disabled_at: number | null
    is_paused: boolean | number
  }

// statusOf (usable.ts) in SQL. Each part handles null explicitly.
export const isRevoked = sql<boolean>`(grants.revoked_at is not null
  or coalesce(connections.status = 'revoked', false) or users.disabled_at is not null)`
export const isPaused = isPausedFor(sql.ref('grants.user_id'))
export const isPast = (now: Date) => sql<boolean>`coalesce(grants.expires_at <= ${now.getTime()}, false)`
export const isOver = (now: Date) =>
  sql<boolean>`(${isPast(now)} or coalesce(grant_usage.calls >= grants.max_calls, false))`

/** With its connection and user: a grant ends when its connection is revoked or its user disabled. */
export function foundationOf(queries: Queries) {
  return queries
    .selectFrom('grants')
    .innerJoin('grant_usage', 'grant_usage.grant_id', 'grants.grant_id')
    .leftJoin('connections', 'connections.connection_id', 'grants.connection_id')
    .leftJoin('users', 'users.user_id', 'grants.user_id')
    .select(columns)
    .select(['connections.status as connection_status', 'users.disabled_at as user_disabled_at'])
    .select(isPaused.as('is_paused'))
}

export function toGrant(row: FoundationRow): Grant {
  return {
    grantId: row.grant_id,
    agentId: row.agent_id,
    kind: row.kind,
    userId: row.user_id,
    connectionId: row.connection_id,
    accessRequestId: row.access_request_id,
    allowedHosts: toList(row.allowed_hosts),
    allowedMethods: row.allowed_methods === null ? null : toList(row.allowed_methods),
    allowedPaths: row.allowed_paths === null ? null : toList(row.allowed_paths),
    maxCalls: row.max_calls,
    mode: row.mode,
    exceptions: JSON.parse(row.exceptions) as GrantException[],
    maxAccess: row.max_access,
    calls: row.calls,
    lastUsedAt: fromTime(row.last_used_at),
    createdAt: new Date(row.created_at),
    expiresAt: fromTime(row.expires_at),
    revokedAt: fromTime(row.revoked_at),
    revokedBy: row.revoked_by,
    isPaused: Boolean(row.is_paused),
    termsVersion: row.terms_version,
    isCutOff: isCutOff(row.connection_status, row.user_disabled_at),
  }
}

function toList(text: string): string[] {
  return JSON.parse(text) as string[]
}
