/** Statements of the hot path: built and compiled once per engine, then run with new values. */
import type { Compilable, CompiledQuery } from 'kysely'
import type { Queries } from './database.ts'

/** Stands for a value that is not known yet, by its name. */
const placeholders = new Proxy({}, { get: (_target, name) => Symbol(String(name)) })

/** `build` is called once per engine. It hands the values to the query and must not look at them. */
export function prepared<Values extends object, Row>(
  build: (queries: Queries, values: Values) => Compilable<Row>,
): (queries: Queries, values: Values) => Promise<Row[]> {
  const compiled = new Map<unknown, CompiledQuery<Row>>()
  return async (queries, values) => {
    const engine = queries.getExecutor().adapter.constructor
    let query = compiled.get(engine)
    if (!query) compiled.set(engine, (query = build(queries, placeholders as Values).compile()))
    const parameters = query.parameters.map((one) =>
      typeof one === 'symbol' ? values[one.description as keyof Values] : one,
    )
    const { rows } = await queries.executeQuery<Row>({ ...query, parameters })
    return rows
  }
}
