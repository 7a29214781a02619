/** Statements of the hot path: built and compiled once per engine, then run with new values. */
import { PostgresAdapter, sql } from 'kysely'
import type { Compilable, CompiledQuery, RawBuilder } from 'kysely'
import { shortcutOf } from './database.ts'
import type { BatchStatement, Queries } from './database.ts'

/** Stands for a value that is not known yet, by its name. */
const placeholders = new Proxy({}, { get: (_target, name) => Symbol(String(name)) })

type Run<Values, Row> = (queries: Queries, values: Values) => Promise<Row[]>

interface PreparedOptions {
  /** It writes a count, a rate or a record: nothing that decides who may do what, and that somebody may have kept. */
  leavesCachesValid?: boolean
}

/** `build` is called once per engine. It hands the values to the query and must not look at them. */
export function prepared<Values extends object, Row>(
  build: (queries: Queries, values: Values) => Compilable<Row> | CompiledQuery<Row>,
  { leavesCachesValid = false }: PreparedOptions = {},
): Run<Values, Row> {
  const statement = preparedText(build)
  return (queries, values) => run(queries, statement(queries, values), { leavesCachesValid })
}

/** The same, not run yet. */
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

/** For SQLite: a note that is made many times over, each time with values of its own. */
export function preparedBatch<Values extends object>(
  build: (queries: Queries, values: Values) => Compilable | CompiledQuery,
): (queries: Queries, each: readonly Values[]) => BatchStatement {
  let query: CompiledQuery | undefined
  return (queries, each) => {
    const { sql: text, parameters } = (query ??= compile(build(queries, placeholders as Values)))
    return { text, rows: each.map((values) => filledIn(parameters, values)) }
  }
}

/** Keys whose number is not known yet, as they stand in a statement. */
export interface KeyList {
  /** Whether the column holds one of them. */
  holds: (column: string) => RawBuilder<boolean>
  /** One in each row of a select. */
  rows: RawBuilder<unknown>
}

/**
 * The same, with a list of keys beside the values. PostgreSQL takes any number of them in one statement; on SQLite
 * there is one each for 1, 2, 4 … keys, and the last key fills up.
 */
export function preparedForKeys<Values extends object, Row>(
  build: (queries: Queries, values: Values, keys: KeyList) => Compilable<Row> | CompiledQuery<Row>,
  options?: PreparedOptions,
): (queries: Queries, values: Values, keys: readonly unknown[]) => Promise<Row[]> {
  const asList = prepared(
    (queries, given: Values & { keys: readonly unknown[] }) => build(queries, given, listOf(given.keys)),
    options,
  )
  const bySize = new Map<number, Run<Values & Record<string, unknown>, Row>>()
  const ofSize = (size: number) => {
    const names = Array.from({ length: size }, (_, index) => `key ${index}`)
    const spelled = (given: Record<string, unknown>) => spelledOut(names.map((name) => given[name]))
    return prepared(
      (queries, given: Values & Record<string, unknown>) => build(queries, given, spelled(given)),
      options,
    )
  }
  return (queries, values, keys) => {
    if (queries.getExecutor().adapter instanceof PostgresAdapter) return asList(queries, { ...values, keys })
    const size = 2 ** Math.ceil(Math.log2(keys.length))
    let run = bySize.get(size)
    if (!run) bySize.set(size, (run = ofSize(size)))
    const named = { ...values } as Record<string, unknown>
    for (let index = 0; index < size; index++) named[`key ${index}`] = keys[Math.min(index, keys.length - 1)]
    return run(queries, named as Values & Record<string, unknown>)
  }
}

export function listOf(keys: readonly unknown[]): KeyList {
  return {
    holds: (column) => sql<boolean>`${sql.ref(column)} = any(${keys})`,
    rows: sql`select unnest(cast(${keys} as text[]))`,
  }
}

function spelledOut(keys: readonly unknown[]): KeyList {
  return {
    holds: (column) => sql<boolean>`${sql.ref(column)} in (${sql.join(keys)})`,
    rows: sql`values ${sql.join(keys.map((key) => sql`(${key})`))}`,
  }
}

/** Columns are found by their place. A table that another instance changes meanwhile may have others in theirs. */
function compile<Row>(built: Compilable<Row> | CompiledQuery<Row>): CompiledQuery<Row> {
  const query = 'compile' in built ? built.compile() : built
  if (/(?:select|returning|\.) ?\*/i.test(query.sql)) throw new Error(`columns have to be named: ${query.sql}`)
  names.set(query.sql, `sallyport_${names.size}`)
  return query
}

/** The texts of such statements, each with a name by which an engine may know it again. */
const names = new Map<string, string>()

export function nameOf(text: string): string | undefined {
  return names.get(text)
}

/** For statements that are text already. */
export async function run<Row>(
  queries: Queries,
  query: CompiledQuery<Row>,
  { leavesCachesValid = false }: PreparedOptions = {},
): Promise<Row[]> {
  const direct = shortcutOf(queries, query, leavesCachesValid)?.(query)
  return direct ? ((await direct) as Row[]) : (await queries.executeQuery(query)).rows
}
