import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Database, Engine, Queries } from './database.ts'

/** The few types whose names differ between the engines. */
export interface ColumnTypes {
  bytes: string
  /** Milliseconds since 1970, or a count. */
  number: string
  /** Numbered upwards by the database; the primary key. */
  sequence: string
  /** Goes behind `create table (…)`. */
  strict: string
  /** The same, of small rows that are found by their key alone; they may change all the time. */
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
    // Room beside each row for what it will be: no index has to be told.
    dense: ' with (fillfactor = 50)',
  },
}

/** Any number that all instances share: it names the lock that only one of them can hold. */
const lockNumber = 7_255_019

/** The service is older than the database: starting it could write what the newer one no longer understands. */
export class DatabaseTooNew extends Error {
  constructor(found: number, known: number) {
    super(`the database has migration ${found}, this version knows ${known}; start the newer version`)
    this.name = 'DatabaseTooNew'
  }
}

/** Brings the schema up to date. Instances that start together wait for the first; a crash leaves all or nothing. */
export async function applyMigrations(
  database: Database,
  clock: Clock,
  known: readonly Migration[],
): Promise<Migration[]> {
  const types = columnTypes[database.engine]
  return database.transaction(async (tx) => {
    // An index over a long record takes as long as it takes, and so do those who wait for it.
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

/** The number of the newest migration of any database; 0 where the service has never been started on it. */
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

/** For the rest of this transaction no other instance is in one that took this lock. SQLite has one writer anyway. */
export async function lockSchema({ engine }: Database, tx: Queries): Promise<void> {
  if (engine === 'postgres') await sql`select pg_advisory_xact_lock(${sql.lit(lockNumber)})`.execute(tx)
}
