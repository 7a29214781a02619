/** A database of either engine without the service, with as many instances as a test wants. */
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Database, Engine } from '../src/platform/database/database.ts'
import { migrate } from '../src/migrations/migrations.ts'
import { openPostgres } from '../src/platform/database/postgres.ts'
import { openSqlite } from '../src/platform/database/sqlite.ts'
import { Secret } from '../src/platform/secret.ts'
import { fixedClock } from './clock.ts'
import { migratedPostgres, placeMigratedSqlite, temporaryFolder, temporaryPostgres } from './databases.ts'

/** Every call opens one more instance on the same empty database. */
export async function emptyDatabase(t: Pick<TestContext, 'after'>, engine: Engine): Promise<() => Database> {
  return opener(t, engine, engine === 'sqlite' ? sqliteFile(t) : await temporaryPostgres(t))
}

export async function migratedDatabase(t: Pick<TestContext, 'after'>, engine: Engine): Promise<() => Database> {
  const where = engine === 'sqlite' ? sqliteFile(t) : await migratedPostgres(t)
  if (engine === 'sqlite') placeMigratedSqlite(where)
  const open = opener(t, engine, where)
  await migrate(open(), fixedClock().now)
  return open
}

function sqliteFile(t: Pick<TestContext, 'after'>): string {
  return join(temporaryFolder(t), 'sallyport.db')
}

function opener(t: Pick<TestContext, 'after'>, engine: Engine, where: string): () => Database {
  return () => {
    const database = engine === 'sqlite' ? openSqlite(where) : openPostgres(new Secret(where), { isInsecure: false })
    t.after(() => database.close())
    return database
  }
}
