/**
 * Counts recorded calls over time. Only the newest records are read, up to a limit, in batches with other work in
 * between. The result says from when on it is complete.
 */
import { auditOutcomes, callEvents } from '@sallyport/protocol/audit'
import type { AuditOutcome } from '@sallyport/protocol/audit'
import { rowsPerBatch } from '../platform/database/batches.ts'
import type { Database } from '../platform/database/database.ts'
import type { AuditScope } from '../audit/audit-scope-store.ts'
import { idSlackMs } from '../audit/audit-record.ts'
import type { AuditFilter } from './audit-list-store.ts'
import { holdsWords } from './call-search.ts'
import { nextSlice } from '../platform/event-loop/time-slices.ts'
import type { CallSeriesStore, SeriesRow } from './call-series-store.ts'
import { addTo, emptySeries } from './call-series.ts'
import type { Series, Span } from './call-series.ts'

interface CountNeeds {
  database: Database
  callSeries: CallSeriesStore
}

export interface CallCounts {
  series: Series[]
  omitted: number
  /** Null if all records were counted. */
  completeSince: Date | null
  /** Upper bound of how many records were read. */
  looked: number
}

type Of = Pick<AuditFilter, 'agentId' | 'grantId' | 'connectionId' | 'provider' | 'event' | 'outcome' | 'words'>

const bounds = { maxRecords: 20_000, batchSize: rowsPerBatch }
const maxSeries = 200

export function createCountCalls({ database, callSeries }: CountNeeds, { maxRecords, batchSize } = bounds) {
  return async (scope: AuditScope, of: Of, span: Span, isByGrant: boolean): Promise<CallCounts> => {
    const series = new Map<string | null, Series>()
    if (!isByGrant) series.set(null, emptySeries(null, span.buckets))
    let oldest: SeriesRow | undefined
    let looked = 0
    for (; looked < maxRecords; looked += batchSize) {
      const wanted = { since: span.since, until: span.until, before: oldest?.auditId }
      const withCalls = of.words !== undefined
      const rows = await callSeries.read(database.queries, scope, wanted, { limit: batchSize, withCalls })
      for (const row of rows) {
        const { grantId, at, outcome } = row
        if (!isCall(row) || !isOf(row, of) || !isOutcome(outcome)) continue
        const isErrorAnswer = outcome === 'answered' && isErrorStatus(row.result)
        addTo(series, span, isByGrant ? grantId : null, { grantId, at, outcome, isErrorAnswer, count: countOf(row) })
      }
      if (rows.length < batchSize) break
      oldest = rows.at(-1)
      await nextSlice()
    }
    const busiest = [...series.values()].sort((a, b) => b.total - a.total)
    return {
      series: busiest.slice(0, maxSeries),
      omitted: Math.max(0, busiest.length - maxSeries),
      completeSince: looked < maxRecords ? null : completeFrom(oldest, span),
      looked: Math.min(looked + batchSize, maxRecords),
    }
  }
}

function isCall({ event }: SeriesRow): boolean {
  return (callEvents as readonly string[]).includes(event)
}

/** Somebody may have changed the database: `audit verify` finds that. */
function isOutcome(text: string | null): text is AuditOutcome {
  return (auditOutcomes as readonly (string | null)[]).includes(text)
}

function isOf(row: SeriesRow, { agentId, grantId, connectionId, provider, event, outcome, words }: Of): boolean {
  return (
    (agentId === undefined || row.agentId === agentId) &&
    (grantId === undefined || row.grantId === grantId) &&
    (connectionId === undefined || row.connectionId === connectionId) &&
    (provider === undefined || row.provider === provider) &&
    (event === undefined || row.event === event) &&
    (outcome === undefined || row.outcome === outcome) &&
    (words === undefined || holdsWords(row.call ?? '', words))
  )
}

/** Of what the host answered. */
function isErrorStatus(result: string | null): boolean {
  return Number(memberOf(result, 'status')) >= 400
}

function memberOf(detail: string | null, member: string): unknown {
  try {
    return detail === null ? undefined : (JSON.parse(detail) as Record<string, unknown>)[member]
  } catch {
    return undefined
  }
}

/** A record of several refusals has their number in its detail. */
function countOf({ summary }: SeriesRow): number {
  const count = memberOf(summary, 'count')
  return typeof count === 'number' && Number.isSafeInteger(count) && count > 0 ? count : 1
}

/** Records that were not read have smaller ids, so their times are earlier, up to a small difference. */
function completeFrom(oldest: SeriesRow | undefined, { since, until }: Span): Date {
  const from = (oldest?.at ?? until.getTime()) + idSlackMs
  return new Date(Math.min(Math.max(from, since.getTime()), until.getTime()))
}
