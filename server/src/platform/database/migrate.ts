import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Database, Engine, Queries } from './database.ts'

/** SQL that differs between the engines. */
export interface ColumnTypes {
  bytes: string
  /** Milliseconds since 1970, or a count. */
  number: string
  /** An ascending primary key that the database assigns. */
  sequence: string
  /** Follows `create table (…)`. */
  strict: string
  /** The same for small rows that are found by primary key only and updated often. */
  dense: string
}

export interface Migration {
  number: number
  name: string
  statements: (types: ColumnTypes, engine: Engine) => string[]
}

const columnTypes: Record<Engine, ColumnTypes> = {
  sqlite: {
    bytes: 'blob',
    number: 'integer',
    sequence: 'integer primary key autoincrement',
    strict: ' strict',
    dense: ' strict, without rowid',
  },
  postgres: {
    bytes: 'bytea',
    number: 'bigint',
    sequence: 'bigint generated always as identity primary key',
    strict: '',
    // Free space in each page lets updates stay there, without touching an index (HOT updates).
    dense: ' with (fillfactor = 50)',
  },
}

/** The id of the advisory lock. Any number, the same for all instances. */
const lockNumber = 7_255_019

/** The database was migrated by a newer version. Running this one could write what the newer one doesn't understand. */
export class DatabaseTooNew extends Error {
  constructor(found: number, known: number) {
    super(`the database is at migration ${found}, this version knows only ${known}; start the newer version`)
    this.name = 'DatabaseTooNew'
  }
}

/** Brings the schema up to date, in one transaction. Of several instances that start at once, one migrates and the others wait. */
export async function applyMigrations(
  database: Database,
  clock: Clock,
  known: readonly Migration[],
): Promise<Migration[]> {
  const types = columnTypes[database.engine]
  return database.transaction(async (tx) => {
    // Building an index over a large table, or waiting for that, may take long.
    if (database.engine === 'postgres') await sql`set local statement_timeout = 0`.execute(tx)
    await lockSchema(database, tx)
    await sql`create table if not exists migrations (
      number integer primary key, name text not null, applied_at ${sql.raw(types.number)} not null
    )`.execute(tx)
    const applied = await lastMigration(tx)
    const newest = known.length
    if (applied > newest) throw new DatabaseTooNew(applied, newest)
    const missing = known.slice(applied)
    for (const { number, name, statements } of missing) {
      for (const statement of statements(types, database.engine)) await sql.raw(statement).execute(tx)
      await tx.insertInto('migrations').values({ number, name, applied_at: clock().getTime() }).execute()
    }
    return missing
  })
}

/** The number of the newest applied migration; 0 for a database that was never used. */
export async function findLastMigration(queries: Queries): Promise<number> {
  const tables = await queries.introspection.getTables()
  return tables.some(({ name }) => name === 'migrations') ? lastMigration(queries) : 0
}

export async function lastMigration(queries: Queries): Promise<number> {
  const row = await queries
    .selectFrom('migrations')
    .select((q) => q.fn.max('number').as('number'))
    .executeTakeFirst()
  return row?.number ?? 0
}

/** Excludes other instances that take this lock, until the transaction ends. SQLite has only one writer anyway. */
export async function lockSchema({ engine }: Database, tx: Queries): Promise<void> {
  if (engine === 'postgres') await sql`select pg_advisory_xact_lock(${sql.lit(lockNumber)})`.execute(tx)
}
