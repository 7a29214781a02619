import { AuditSeriesQuery, AuditSeriesReply } from '@sallyport/protocol/audit'
import type {} from '../authenticate.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Http } from '../platform/http/http.ts'
import { readerKey } from '../platform/http/limit-lists.ts'
import { momentOf, scopeOf } from './audit-routes.ts'
import type { ReadBudget } from '../platform/limits/read-budget.ts'
import type { CallSeriesStore } from './call-series-store.ts'
import { startsOf } from './call-series.ts'
import type { Series, Span } from './call-series.ts'
import { createCountCalls } from './count-calls.ts'

interface SeriesRouteNeeds {
  database: Database
  callSeries: CallSeriesStore
  clock: Clock
  reads: ReadBudget
}

const dayMs = 86_400_000
const longestMs = 3_660 * dayMs
const defaultBuckets = 24

export function callSeriesRoutes(http: Http, needs: SeriesRouteNeeds): void {
  const countCalls = createCountCalls(needs)

  http.get(
    '/v4/audit/series',
    {
      config: { allow: ['user', 'admin'] },
      schema: {
        tags: ['Audit'],
        summary: 'How many calls there were over time, by what came of them',
        description:
          'Between `since` and `until`, in `buckets` parts of equal length: give the instants where your days begin, and ' +
          'the parts are days of yours. A call counts where it began. Of the newest 20 000 records all calls are counted; ' +
          '`complete_since` says from when on that is all there were.',
        querystring: AuditSeriesQuery,
        response: { 200: AuditSeriesReply },
      },
    },
    async (request) => {
      const { query } = request
      const span = spanOf(query, needs.clock())
      const of = {
        agentId: query.agent_id,
        grantId: query.grant_id,
        connectionId: query.connection_id,
        provider: query.provider,
      }
      const caller = readerKey(request)
      needs.reads.assertLeft(caller)
      const isByGrant = query.by === 'grant'
      const counted = await needs.reads.inTurn(caller, () => countCalls(scopeOf(request), of, span, isByGrant))
      needs.reads.spend(caller, counted.looked)
      return {
        since: span.since.toISOString(),
        until: span.until.toISOString(),
        starts: startsOf(span).map((start) => start.toISOString()),
        complete_since: counted.completeSince?.toISOString() ?? null,
        series: counted.series.map(seriesView),
        omitted: counted.omitted,
      }
    },
  )
}

function spanOf(query: AuditSeriesQuery, now: Date): Span {
  const until = momentOf(query, 'until') ?? now
  const since = momentOf(query, 'since') ?? new Date(until.getTime() - dayMs)
  const { buckets = defaultBuckets } = query
  const length = until.getTime() - since.getTime()
  if (length < buckets || length > longestMs) {
    const message = '"since" lies before "until": a millisecond or more for each part, ten years at most.'
    throw new ServiceError('invalid_field', { field: 'since', message })
  }
  return { since, until, buckets }
}

function seriesView({ grantId, total, lastCallAt, counts }: Series) {
  const last_call_at = total === 0 ? null : new Date(lastCallAt).toISOString()
  return { grant_id: grantId, total, last_call_at, ...counts }
}
