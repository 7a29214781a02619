/** Statements of the hot path: built and compiled once per engine, then run with new values. */
import type { Compilable, CompiledQuery } from 'kysely'
import { shortcutOf } from './database.ts'
import type { Queries } from './database.ts'

/** Stands for a value that is not known yet, by its name. */
const placeholders = new Proxy({}, { get: (_target, name) => Symbol(String(name)) })

type Run<Values, Row> = (queries: Queries, values: Values) => Promise<Row[]>

/** `build` is called once per engine. It hands the values to the query and must not look at them. */
export function prepared<Values extends object, Row>(
  build: (queries: Queries, values: Values) => Compilable<Row> | CompiledQuery<Row>,
): Run<Values, Row> {
  const compiled = new Map<unknown, CompiledQuery<Row>>()
  return (queries, values) => {
    const engine = queries.getExecutor().adapter.constructor
    let query = compiled.get(engine)
    if (!query) compiled.set(engine, (query = compile(build(queries, placeholders as Values))))
    const parameters = query.parameters.map((one) =>
      typeof one === 'symbol' ? values[one.description as keyof Values] : one,
    )
    return run(queries, { ...query, parameters })
  }
}

/** The same, with a list of keys beside the values. There is a statement each for 1, 2, 4 … keys; the last key fills up. */
export function preparedForKeys<Values extends object, Key, Row>(
  build: (queries: Queries, values: Values, keys: Key[]) => Compilable<Row> | CompiledQuery<Row>,
): (queries: Queries, values: Values, keys: readonly Key[]) => Promise<Row[]> {
  const bySize = new Map<number, Run<Values & Record<string, Key>, Row>>()
  return (queries, values, keys) => {
    const size = 2 ** Math.ceil(Math.log2(keys.length))
    let run = bySize.get(size)
    if (!run) {
      const names = Array.from({ length: size }, (_, index) => `key ${index}`)
      const all = (given: Record<string, Key>) => names.map((name) => given[name] as Key)
      bySize.set(size, (run = prepared((tx, given) => build(tx, given, all(given)))))
    }
    const named = { ...values } as Record<string, unknown>
    for (let index = 0; index < size; index++) named[`key ${index}`] = keys[Math.min(index, keys.length - 1)]
    return run(queries, named as Values & Record<string, Key>)
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
export async function run<Row>(queries: Queries, query: CompiledQuery<Row>): Promise<Row[]> {
  const direct = shortcutOf(queries, query)
  return direct ? ((await direct(query)) as Row[]) : (await queries.executeQuery(query)).rows
}
