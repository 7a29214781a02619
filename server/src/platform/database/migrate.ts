import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Clock } from '../clock.ts'
import type { Database, Engine, Queries } from './database.ts'
import { isLockTimeout } from './failures.ts'

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
  /**
   * The newest migration that a version has to know to run on the result of this one; by default this one. A migration
   * that only expands has the number of the release before. One that contracts has the number of the migration that made
   * what it removes superfluous, and comes a release later.
   */
  runsFrom?: number
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

/** A newer version changed the database in a way that this version can't run on. */
export class DatabaseTooNew extends Error {
  constructor(required: number, known: number) {
    super(`the database needs migration ${required}, this version knows only ${known}; start the newer version`)
    this.name = 'DatabaseTooNew'
  }
}

/**
 * Less than PostgreSQL's deadlock_timeout of a second: where a call of an instance that runs already and a migration wait
 * for each other, it is the migration that gives up and begins again.
 */
const lockTimeoutMs = 300
const attempts = 100
const pauseMs = 500

/** Brings the schema up to date, in one transaction. Of several instances that start at once, one migrates and the others wait. */
export async function applyMigrations(
  database: Database,
  clock: Clock,
  known: readonly Migration[],
): Promise<Migration[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await applyOnce(database, clock, known)
    } catch (error) {
      if (attempt === attempts || !isLockTimeout(error)) throw error
      await sleep(Math.random() * pauseMs)
    }
  }
}

function applyOnce(database: Database, clock: Clock, known: readonly Migration[]): Promise<Migration[]> {
  const types = columnTypes[database.engine]
  return database.transaction(async (tx) => {
    // Building an index over a large table, or waiting for that, may take long.
    if (database.engine === 'postgres') await sql`set local statement_timeout = 0`.execute(tx)
    await lockSchema(database, tx)
    if (database.engine === 'postgres') await sql`set local lock_timeout = ${sql.lit(lockTimeoutMs)}`.execute(tx)
    await sql`create table if not exists migrations (
      number integer primary key, name text not null, applied_at ${sql.raw(types.number)} not null
    )`.execute(tx)
    await addRunsFrom(tx, database.engine, types)
    await assertUsable(tx, known.length)
    const missing = known.slice(await lastMigration(tx))
    for (const { number, name, statements, runsFrom = null } of missing) {
      for (const statement of statements(types, database.engine)) await sql.raw(statement).execute(tx)
      await tx
        .insertInto('migrations')
        .values({ number, name, applied_at: clock().getTime(), runs_from: runsFrom })
        .execute()
    }
    return missing
  })
}

/** The first databases have no such column, and it has to exist before the first migration is recorded. */
async function addRunsFrom(tx: Queries, engine: Engine, { number }: ColumnTypes): Promise<void> {
  const known =
    engine === 'postgres'
      ? sql`pg_attribute where attrelid = 'migrations'::regclass and attname`
      : sql`pragma_table_info('migrations') where name`
  const { rows } = await sql`select 1 from ${known} = 'runs_from'`.execute(tx)
  if (rows.length > 0) return
  await sql`alter table migrations add column runs_from ${sql.raw(number)}`.execute(tx)
}

/** Throws unless a version that knows this many migrations can run on the database, perhaps beside a newer version. */
export async function assertUsable(queries: Queries, known: number): Promise<void> {
  const required = await requiredMigration(queries)
  if (required > known) throw new DatabaseTooNew(required, known)
}

/** The newest migration that a version has to know to run on the database. */
export async function requiredMigration(queries: Queries): Promise<number> {
  const { rows } = await sql<{
    required: number | null
  }>`select ${sql.raw(required)} as required from migrations`.execute(queries)
  return rows[0]?.required ?? 0
}

export const required = 'max(coalesce(runs_from, number))'

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
