/** The filters of the activity view. They are in the URL, so that it can be shared, reloaded and navigated. */
import type { AuditRecord, AuditSeriesQuery, ListAuditQuery } from '@sallyport/sdk'

export const spans = { day: '24 hours', week: '7 days', month: '30 days', all: 'All' } as const
export type Span = keyof typeof spans

const hoursOf: Record<Exclude<Span, 'all'>, number> = { day: 24, week: 7 * 24, month: 30 * 24 }

export const outcomes = {
  answered: 'Answered',
  failed: 'Failed',
  refused: 'Refused',
  unknown: 'Unknown',
} as const satisfies Record<NonNullable<AuditRecord['outcome']>, string>

/** Event types that can be filtered by. */
export const kinds = {
  'proxy.attempt': 'Calls',
  'proxy.refused': 'Refused calls',
  'proxy.held': 'Calls that asked you',
  'proxy.approved': 'Calls you approved',
  'proxy.denied': 'Calls you denied',
  'proxy.expired': 'Calls that expired',
  'proxy.cancelled': 'Calls that were cancelled',
  'access_request.created': 'Requests',
  'access_request.approved': 'Approvals',
  'access_request.denied': 'Denials',
  'grant.changed': 'Changed grants',
  'grant.revoked': 'Revoked grants',
  'connection.created': 'Connected accounts',
  'connection.needs_reauth': 'Accounts that need sign-in',
  'device.paired': 'Paired devices',
  'session.started': 'Sign-ins',
} as const satisfies Partial<Record<AuditRecord['event'], string>>

export interface Filters {
  span: Span
  q?: string
  kind?: keyof typeof kinds
  outcome?: keyof typeof outcomes
  agentId?: string
  grantId?: string
  connectionId?: string
  provider?: string
}

const texts = {
  q: 'q',
  agentId: 'agent_id',
  grantId: 'grant_id',
  connectionId: 'connection_id',
  provider: 'provider',
} as const

/** Anyone can craft a URL: unknown values are ignored. */
export function filtersIn(search: string): Filters {
  const query = new URLSearchParams(search)
  const oneOf = <T extends object>(choices: T, name: string): keyof T | undefined => {
    const value = query.get(name) ?? ''
    return Object.hasOwn(choices, value) ? (value as keyof T) : undefined
  }
  const kind = oneOf(kinds, 'kind')
  const outcome = oneOf(outcomes, 'outcome')
  const named = Object.entries(texts).flatMap(([member, name]) => {
    const value = query.get(name)?.slice(0, 100).trim()
    return value ? [[member, value]] : []
  })
  return {
    span: oneOf(spans, 'span') ?? 'week',
    ...(kind && { kind }),
    ...(outcome && { outcome }),
    ...(Object.fromEntries(named) as Partial<Filters>),
  }
}

export function addressOf(filters: Filters): string {
  const query = new URLSearchParams()
  if (filters.span !== 'week') query.set('span', filters.span)
  if (filters.kind) query.set('kind', filters.kind)
  if (filters.outcome) query.set('outcome', filters.outcome)
  for (const [member, name] of Object.entries(texts)) {
    const value = filters[member as keyof typeof texts]
    if (value) query.set(name, value)
  }
  return query.size === 0 ? '/activity' : `/activity?${query}`
}

/** The API query for the list and for exports. */
export function queryOf(filters: Filters, now: number): ListAuditQuery {
  const since = sinceOf(filters.span, now)
  return {
    ...ofWhat(filters),
    ...(filters.q && { q: filters.q }),
    ...(filters.kind && { event: filters.kind }),
    ...(filters.outcome && { outcome: filters.outcome }),
    ...(since && { since }),
  }
}

/** The same for the chart, but for its time. Undefined if these filters leave no calls, or no beginning. */
export function seriesQueryOf({ kind, q, outcome, ...filters }: Filters): AuditSeriesQuery | undefined {
  if (filters.span === 'all') return undefined
  if (kind !== undefined && kind !== 'proxy.attempt' && kind !== 'proxy.refused') return undefined
  return { ...ofWhat(filters), ...(q && { q }), ...(kind && { event: kind }), ...(outcome && { outcome }) }
}

function ofWhat({ agentId, grantId, connectionId, provider }: Partial<Filters>) {
  return {
    ...(agentId && { agent_id: agentId }),
    ...(grantId && { grant_id: grantId }),
    ...(connectionId && { connection_id: connectionId }),
    ...(provider && { provider }),
  }
}

export function sinceOf(span: Span, now: number): string | undefined {
  return span === 'all' ? undefined : new Date(now - hoursOf[span] * 3_600_000).toISOString()
}

/** The number of bars of the chart. */
export function bucketsOf(span: Span): number {
  return { day: 24, week: 28, month: 30, all: 30 }[span]
}
