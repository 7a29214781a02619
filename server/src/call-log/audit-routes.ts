import { Readable } from 'node:stream'
import { AuditPage, AuditRecord, ListAuditQuery } from '@sallyport/protocol/audit'
import type { AuditFormat } from '@sallyport/protocol/audit'
import { IdInPath } from '@sallyport/protocol/schema'
import type { FastifyRequest } from 'fastify'
import type { AuditScope } from '../audit/audit-scope-store.ts'
import type {} from '../authenticate.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { pageRequest } from '../platform/database/paging.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Http } from '../platform/http/http.ts'
import { readerKey } from '../platform/http/limit-lists.ts'
import type { ReadBudget } from '../platform/limits/read-budget.ts'
import { nextSlice } from '../platform/event-loop/time-slices.ts'
import { csvHeader, csvRow } from './audit-csv.ts'
import type { AuditFilter, AuditListStore, ListedRecord } from './audit-list-store.ts'
import { agentEvents, auditView } from './audit-view.ts'
import { wordsIn } from './call-search.ts'
import { createExportLimit } from './export-limit.ts'

interface AuditRouteNeeds {
  database: Database
  auditList: AuditListStore
  reads: ReadBudget
  /** The names that agents gave themselves. */
  agents: { findAll: (queries: Queries, agentIds: string[]) => Promise<{ agentId: string; name: string }[]> }
}

const tags = ['Audit']
/** Reading and encoding that many takes two milliseconds. */
const exportPage = 25

export function auditRoutes(http: Http, needs: AuditRouteNeeds): void {
  const { database, auditList, agents, reads } = needs
  const exports = createExportLimit()
  const views = async (records: ListedRecord[], scope: AuditScope): Promise<AuditRecord[]> => {
    const ids = new Set(records.flatMap(({ agent_id }) => agent_id ?? []))
    const named = await agents.findAll(database.queries, [...ids])
    const names = new Map(named.map(({ agentId, name }) => [agentId, name]))
    return records.map((record) => auditView(record, scope.agentId !== undefined, names))
  }

  const page = async (
    request: FastifyRequest,
    filter: AuditFilter,
    wanted: { limit: number; before: string | undefined },
  ) => {
    const [scope, caller] = [scopeOf(request), readerKey(request)]
    return reads.inTurn(caller, async () => {
      const { records, nextCursor, looked } = await auditList.list(database.queries, scope, filter, wanted)
      reads.spend(caller, looked)
      return { records: await views(records, scope), nextCursor }
    })
  }

  /**
   * Page by page, with backpressure and within the caller's read budget. Checks before each page that the caller is
   * still authorized.
   */
  async function* allPages(request: FastifyRequest, filter: AuditFilter, before: string | undefined) {
    for (let cursor = before; ;) {
      await reads.untilLeft(readerKey(request))
      const { records, nextCursor } = await page(request, filter, { limit: exportPage, before: cursor })
      yield records
      if (nextCursor === null) return
      await nextSlice()
      await request.assertStillAdmitted()
      cursor = nextCursor
    }
  }

  http.get(
    '/v4/audit',
    {
      config: { allow: ['agent', 'user', 'admin'], countsItsRows: true },
      schema: {
        tags,
        summary: "Read the audit log: an agent's own records, records that concern a user, or all records as admin",
        description:
          'Newest first. A proxied call is one record: the attempt, with its outcome in `outcome` and `result`. ' +
          'A page can have fewer records than `limit`, even none, before the end: continue while `next_cursor` is not ' +
          'null. The number of rows scanned per second is limited (429 `rate_limited`). `Accept: application/x-ndjson` or `text/csv`, or `format` in a link, returns all matching records as a ' +
          'file, from `cursor` on. A caller can run two exports at a time (429 `rate_limited` beyond that). In CSV, a value that a spreadsheet would treat as a formula is prefixed with an apostrophe.',
        querystring: ListAuditQuery,
        response: { 200: AuditPage },
      },
    },
    async (request, reply) => {
      const { query } = request
      const filter = filterOf(query)
      const form = exportForm(query.format, request.headers.accept)
      reads.assertLeft(readerKey(request))
      if (form === undefined) {
        const { records, nextCursor } = await page(request, filter, pageRequest(query))
        return { records, next_cursor: nextCursor }
      }
      if (query.limit !== undefined) {
        throw new ServiceError('invalid_field', { field: 'limit', message: 'An export has no "limit". Omit it.' })
      }
      const end = exports.begin(readerKey(request))
      const lines = form.lines(allPages(request, filter, query.cursor))
      const stream = Readable.from(lines, { objectMode: false }).once('close', end)
      // Even if nobody has begun to read it.
      reply.raw.once('close', () => stream.destroy())
      void reply.type(form.type).header('content-disposition', `attachment; filename="${form.file}"`)
      // The schema describes JSON and does not apply to a stream.
      return reply.send(stream as unknown as AuditPage)
    },
  )

  http.get(
    '/v4/audit/:id',
    {
      config: { allow: ['agent', 'user', 'admin'] },
      schema: {
        tags,
        summary: 'Get one record',
        params: IdInPath,
        response: { 200: AuditRecord },
      },
    },
    async (request) => {
      const scope = scopeOf(request)
      const found = await auditList.find(database.queries, scope, request.params.id)
      const [view] = found ? await views([found], scope) : []
      if (!view) throw new ServiceError('not_found')
      return view
    },
  )
}

export function scopeOf({ actor }: FastifyRequest): AuditScope {
  if (actor?.kind === 'admin') return {}
  if (actor?.kind === 'agent') return { agentId: actor.agent.agentId, events: agentEvents }
  if (actor?.kind === 'user') return { userId: actor.user.userId }
  throw new Error('the route admits agents, users and admins alone')
}

export function momentOf<Field extends string>(query: { [name in Field]?: string }, field: Field): Date | undefined {
  const text = query[field]
  if (text === undefined) return undefined
  const value = new Date(text)
  // The schema's format accepts leap seconds, a Date does not.
  if (Number.isNaN(value.getTime())) throw new ServiceError('invalid_field', { field })
  return value
}

function filterOf(query: ListAuditQuery): AuditFilter {
  return {
    agentId: query.agent_id,
    grantId: query.grant_id,
    connectionId: query.connection_id,
    provider: query.provider,
    event: query.event,
    outcome: query.outcome,
    since: momentOf(query, 'since'),
    until: momentOf(query, 'until'),
    words: wordsIn(query.q),
  }
}

interface ExportForm {
  format: AuditFormat
  type: string
  file: string
  lines: (pages: AsyncIterable<AuditRecord[]>) => AsyncIterable<string>
}

const exportForms: ExportForm[] = [
  {
    format: 'ndjson',
    type: 'application/x-ndjson',
    file: 'audit.ndjson',
    lines: async function* (pages) {
      for await (const records of pages) yield records.map((record) => `${JSON.stringify(record)}\n`).join('')
    },
  },
  {
    format: 'csv',
    type: 'text/csv',
    file: 'audit.csv',
    lines: async function* (pages) {
      yield csvHeader
      for await (const records of pages) yield records.map(csvRow).join('')
    },
  },
]

function exportForm(format: AuditFormat | undefined, accept = ''): ExportForm | undefined {
  if (format !== undefined) return exportForms.find((form) => form.format === format)
  const named = accept.split(',').map((one) => one.split(';')[0]?.trim().toLowerCase())
  return exportForms.find(({ type }) => named.includes(type))
}
