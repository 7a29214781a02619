import { AuditSeriesQuery, AuditSeriesReply } from '@sallyport/protocol/audit'
import type {} from '../authenticate.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Http } from '../platform/http/http.ts'
import { readerKey } from '../platform/http/limit-lists.ts'
import { momentOf, scopeOf } from './audit-routes.ts'
import type { ReadBudget } from '../platform/limits/read-budget.ts'
import { wordsIn } from './call-search.ts'
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
        summary: 'Count calls over time by outcome',
        description:
          'Counts between `since` and `until` in `buckets` parts of equal length. To count by local days, align both to ' +
          'local midnights. A call is counted when it starts. `q`, `event` and `outcome` are as in the list. Only the newest 20 000 records are counted completely; ' +
          '`complete_since` is the time from which counts are complete.',
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
        event: query.event,
        outcome: query.outcome,
        words: wordsIn(query.q),
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
    const message =
      '"since" must be before "until", with at least a millisecond per bucket and at most ten years in total.'
    throw new ServiceError('invalid_field', { field: 'since', message })
  }
  return { since, until, buckets }
}

function seriesView({ grantId, total, lastCallAt, counts }: Series) {
  const last_call_at = total === 0 ? null : new Date(lastCallAt).toISOString()
  return { grant_id: grantId, total, last_call_at, ...counts }
}
