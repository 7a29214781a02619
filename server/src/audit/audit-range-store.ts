/**
 * The records of a user or an agent are several ranges of an index, each in order: of an agent, those without a user
 * and those with each of its users. Lists merge these ranges, so no other records are read.
 */
import type { AuditEvent } from '@sallyport/protocol/audit'
import { PostgresAdapter } from 'kysely'
import type { Queries } from '../platform/database/database.ts'
import { lowestId } from '../platform/ids.ts'
import { nextSlice } from '../platform/event-loop/time-slices.ts'
import { isListed } from './audit-pair-store.ts'
import { idSlackMs } from './audit-record.ts'
import { counterpartsOf } from './counterpart-store.ts'
import type { RecordRow } from './audit-hash.ts'

/** Whose records: an agent's, those that concern a user, or all. */
export interface AuditScope {
  agentId?: string
  userId?: string
  /** The events that may be shown. All if undefined. */
  events?: readonly AuditEvent[]
}

/** Null: records without one. Undefined: of any. */
export interface Range {
  agentId?: string | null
  userId?: string | null
  /** Its newest record, if known. */
  newest?: string
}

/** The part of some ranges to read: below `before`, down to `from`. */
export interface Part {
  ranges: readonly Range[]
  since: Date | undefined
  until: Date | undefined
  before: string | undefined
  from: string | undefined
}

/** Newest first, complete down to the cursor, or to the end if it is null. */
export interface Piece<Row> {
  rows: Row[]
  nextCursor: string | null
}

/** Ranges merged by one statement. */
const maxMerged = 30

/** The ranges with records below `before`, the one with the newest first. `looked`: how many rows were read for it. */
export async function rangesOf(
  queries: Queries,
  { agentId, userId }: AuditScope,
  before?: string,
): Promise<{ ranges: Range[]; looked: number }> {
  if (agentId !== undefined && userId !== undefined) return { ranges: [{ agentId, userId }], looked: 0 }
  if (agentId !== undefined) {
    const { found, looked } = await counterpartsOf(queries, { own: 'agent_id', id: agentId }, before)
    const users = found.map(({ id, newest }) => ({ agentId, userId: id, newest }))
    return { ranges: [{ agentId, userId: null }, ...users], looked }
  }
  if (userId !== undefined) {
    const { found, looked } = await counterpartsOf(queries, { own: 'user_id', id: userId }, before)
    const agents = found.map(({ id, newest }) => ({ agentId: id, userId, newest }))
    return { ranges: [{ agentId: null, userId }, ...agents], looked }
  }
  return { ranges: [{}], looked: 0 }
}

/** The records of the part, newest first. Merged while reading, so that the limit bounds how many rows are read. */
export function candidatesOf<Column extends keyof RecordRow>(
  queries: Queries,
  { ranges, ...bounds }: Part,
  columns: readonly Column[],
  { limit, offset = 0 }: { limit: number; offset?: number },
) {
  const [first = {}, ...others] = ranges
  // PostgreSQL reads each side of a union in index order only with an `order by` of its own, SQLite only without.
  const isEachOrdered = others.length > 0 && queries.getExecutor().adapter instanceof PostgresAdapter
  const inRange = (range: Range) => {
    const rows = within(queries, range, bounds).select(columns)
    if (!isEachOrdered) return rows
    return queries
      .selectFrom(
        rows
          .orderBy('audit_id', 'desc')
          .limit(limit + offset)
          .as('audit_records'),
      )
      .select(columns as readonly never[]) as unknown as typeof rows
  }
  return inRange(first)
    .$if(others.length > 0, (query) => query.unionAll(others.map(inRange)))
    .orderBy('audit_id', 'desc')
    .limit(limit)
    .$if(offset > 0, (query) => query.offset(offset))
    .$castTo<Pick<RecordRow, Column>>()
}

function within(queries: Queries, { agentId, userId }: Range, { since, until, before, from }: Omit<Part, 'ranges'>) {
  return queries
    .selectFrom('audit_records')
    .where(isListed)
    .$if(agentId === null, (query) => query.where('agent_id', 'is', null))
    .$if(userId === null, (query) => query.where('user_id', 'is', null))
    .$if(typeof agentId === 'string', (query) => query.where('agent_id', '=', agentId ?? ''))
    .$if(typeof userId === 'string', (query) => query.where('user_id', '=', userId ?? ''))
    .$if(before !== undefined, (query) => query.where('audit_id', '<', before ?? ''))
    .$if(from !== undefined, (query) => query.where('audit_id', '>=', from ?? ''))
    .$if(since !== undefined, (query) => query.where('audit_id', '>=', idAt(since, -idSlackMs)))
    .$if(until !== undefined, (query) => query.where('audit_id', '<', idAt(until, idSlackMs)))
}

/** How many statements are needed to read them. */
export function piecesOf(ranges: readonly Range[]): number {
  return Math.ceil(ranges.length / maxMerged)
}

/**
 * Reads more ranges than one statement merges: a few at a time, with other work in between, and no further down than
 * the rows found so far. Stops if all other ranges are below that.
 */
export async function readInPieces<Row>(
  ranges: readonly Range[],
  limit: number,
  idOf: (row: Row) => string,
  read: (ranges: readonly Range[], from: string | undefined) => Promise<Piece<Row>>,
): Promise<Piece<Row>> {
  let known = await read(ranges.slice(0, maxMerged), undefined)
  for (let start = maxMerged; start < ranges.length; start += maxMerged) {
    const newest = ranges[start]?.newest
    if (known.nextCursor !== null && newest !== undefined && newest < known.nextCursor) break
    await nextSlice()
    const more = await read(ranges.slice(start, start + maxMerged), known.nextCursor ?? undefined)
    known = joined(known, more, limit, idOf)
  }
  return known
}

/** Complete as far down as both are. */
function joined<Row>(one: Piece<Row>, other: Piece<Row>, limit: number, idOf: (row: Row) => string): Piece<Row> {
  const [nextCursor = null] = [one.nextCursor, other.nextCursor]
    .filter((cursor) => cursor !== null)
    .sort()
    .reverse()
  const rows = [...one.rows, ...other.rows]
    .filter((row) => nextCursor === null || idOf(row) >= nextCursor)
    .sort((a, b) => (idOf(a) < idOf(b) ? 1 : -1))
  if (rows.length <= limit) return { rows, nextCursor }
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return { rows: page, nextCursor: last === undefined ? nextCursor : idOf(last) }
}

function idAt(time: Date | undefined, offsetMs: number): string {
  return lowestId('aud', new Date((time?.getTime() ?? 0) + offsetMs))
}
