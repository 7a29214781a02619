/** Prepared statements for the hot path: built and compiled once per engine, then run with new values. */
import { sql } from 'kysely'
import type { Compilable, CompiledQuery, RawBuilder } from 'kysely'
import { shortcutOf } from './database.ts'
import type { BatchStatement, Queries } from './database.ts'

/** Any member is a symbol with the member's name. It is replaced by the value when the statement is run. */
const placeholders = new Proxy({}, { get: (_target, name) => Symbol(String(name)) })

/**
 * `build` is called once per engine, with placeholders. It passes them to the query and must not look at them.
 * `leavesCachesValid`: it writes only counts, rates or records, nothing that decides who may do what.
 */
export function prepared<Values extends object, Row>(
  build: (queries: Queries, values: Values) => Compilable<Row> | CompiledQuery<Row>,
  { leavesCachesValid = false } = {},
): (queries: Queries, values: Values) => Promise<Row[]> {
  const statement = preparedText(build)
  return async (queries, values) => {
    const query = statement(queries, values)
    // Directly where the engine allows it.
    const direct = shortcutOf(queries, query, leavesCachesValid)?.(query)
    return direct ? ((await direct) as Row[]) : (await queries.executeQuery(query)).rows
  }
}

/** Returns the statement without running it. */
export function preparedText<Values extends object, Row>(
  build: (queries: Queries, values: Values) => Compilable<Row> | CompiledQuery<Row>,
): (queries: Queries, values: Values) => CompiledQuery<Row> {
  const compiled = new Map<unknown, CompiledQuery<Row>>()
  return (queries, values) => {
    const engine = queries.getExecutor().adapter.constructor
    let query = compiled.get(engine)
    if (!query) compiled.set(engine, (query = compile(build(queries, placeholders as Values))))
    return { ...query, parameters: filledIn(query.parameters, values) }
  }
}

function filledIn(parameters: readonly unknown[], values: object): unknown[] {
  const named = values as Record<string, unknown>
  return parameters.map((one) => (typeof one === 'symbol' ? named[one.description ?? ''] : one))
}

/** For SQLite: a statement that is run once for each set of values. */
export function preparedBatch<Values extends object>(
  build: (queries: Queries, values: Values) => Compilable | CompiledQuery,
): (queries: Queries, each: readonly Values[]) => BatchStatement {
  let query: CompiledQuery | undefined
  return (queries, each) => {
    const { sql: text, parameters } = (query ??= compile(build(queries, placeholders as Values)))
    return { text, rows: each.map((values) => filledIn(parameters, values)) }
  }
}

/** For PostgreSQL: SQL for a list of any number of keys. */
export interface KeyList {
  /** Whether the column is one of the keys. */
  holds: (column: string) => RawBuilder<boolean>
  /** A select with one key per row. */
  rows: RawBuilder<unknown>
}

export function listOf(keys: readonly unknown[]): KeyList {
  return {
    holds: (column) => sql<boolean>`${sql.ref(column)} = any(${keys})`,
    rows: sql`select unnest(cast(${keys} as text[]))`,
  }
}

/** Results are read by position, so columns must be named: another instance may add a column meanwhile. */
function compile<Row>(built: Compilable<Row> | CompiledQuery<Row>): CompiledQuery<Row> {
  const query = 'compile' in built ? built.compile() : built
  if (/(?:select|returning|\.) ?\*/i.test(query.sql)) throw new Error(`columns have to be named: ${query.sql}`)
  names.set(query.sql, `sallyport_${names.size}`)
  return query
}

/** The name of each prepared statement, by its text. */
const names = new Map<string, string>()

export function nameOf(text: string): string | undefined {
  return names.get(text)
}
