/** The prepared statements of one connection to a SQLite file. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { CompiledQuery, QueryResult } from 'kysely'
import type { BatchStatement } from './database.ts'
import { isBusy } from './failures.ts'

const keptStatements = 500

export interface Link {
  database: DatabaseSync
  statements: Map<string, Prepared>
  /** Return rows as arrays of values, which takes half the time. */
  shortcuts: Map<string, Prepared>
}

interface Prepared {
  statement: StatementSync
  columns: string[]
}

export function linkTo(database: DatabaseSync): Link {
  return { database, statements: new Map(), shortcuts: new Map() }
}

/** Changes when another connection has written. Undefined if the file is busy. */
export function dataVersion(link: Link): unknown {
  try {
    return shortcutTo(link, 'pragma data_version').statement.get()?.[0]
  } catch (error) {
    if (isBusy(error)) return undefined
    throw error
  }
}

const rowStatements = new Set(['InsertQueryNode', 'UpdateQueryNode', 'DeleteQueryNode'])

/** SQLite counts the changes of these statements only, not those of a schema change. */
export function changesRows({ query }: CompiledQuery): boolean {
  return rowStatements.has(query.kind)
}

/** How many rows this connection has changed so far. Many statements change none. */
export function changesOf(link: Link): unknown {
  return shortcutTo(link, 'select total_changes()').statement.get()?.[0]
}

/** Returns how many rows each run changed. */
export function runBatchStatement(link: Link, { text, rows }: BatchStatement): number[] {
  const { statement } = shortcutTo(link, text)
  return rows.map((values) => Number(statement.run(...(values as SQLInputValue[])).changes))
}

export function execute<Row>(link: Link, { sql, parameters }: CompiledQuery): QueryResult<Row> {
  const { statement, columns } = prepare(link, sql)
  const values = parameters as SQLInputValue[]
  if (columns.length > 0) return { rows: statement.all(...values) as Row[] }
  const { changes } = statement.run(...values)
  return { rows: [], numAffectedRows: BigInt(changes) }
}

export function rowsOf(link: Link, { sql, parameters }: CompiledQuery): object[] {
  const { statement, columns } = shortcutTo(link, sql)
  const rows = statement.all(...(parameters as SQLInputValue[])) as unknown as unknown[][]
  return rows.map((values) => {
    const row: Record<string, unknown> = {}
    for (let index = 0; index < columns.length; index++) row[columns[index] ?? ''] = values[index]
    return row
  })
}

function shortcutTo({ database, shortcuts }: Link, sql: string): Prepared {
  const known = shortcuts.get(sql)
  if (known) return known
  const made = prepareAnew(database, sql)
  made.statement.setReturnArrays(true)
  shortcuts.set(sql, made)
  return made
}

export function prepare({ database, statements }: Link, sql: string): Prepared {
  const known = statements.get(sql)
  if (known) return known
  if (statements.size === keptStatements) statements.clear()
  const made = prepareAnew(database, sql)
  statements.set(sql, made)
  return made
}

function prepareAnew(database: DatabaseSync, sql: string): Prepared {
  const statement = database.prepare(sql)
  return { statement, columns: statement.columns().map(({ name }) => name) }
}
