/**
 * Migrated databases, prepared once per test run for tests to copy. Apart from databases.ts, so that tests of the built
 * service do not load the migrations.
 */
import { randomBytes } from 'node:crypto'
import { migrate } from '../src/migrations/migrations.ts'
import { openPostgres } from '../src/platform/database/postgres.ts'
import { openSqlite } from '../src/platform/database/sqlite.ts'
import { Secret } from '../src/platform/secret.ts'
import { onServer, withDatabase } from './databases.ts'

/** The template that `placeMigratedSqlite` copies during a test run. */
export async function prepareSqliteTemplate(file: string): Promise<void> {
  const database = openSqlite(file)
  await migrate(database, () => new Date())
  await database.close()
}

/** The template that `migratedPostgres` copies during a test run. */
export async function preparePostgresTemplate(server: string): Promise<{ name: string; drop: () => Promise<void> }> {
  const name = `template_${randomBytes(8).toString('hex')}`
  await onServer(server, `create database ${name}`)
  const database = openPostgres(new Secret(withDatabase(server, name)), { isInsecure: true })
  await migrate(database, () => new Date())
  await database.close()
  return { name, drop: () => onServer(server, `drop database if exists ${name}`) }
}
