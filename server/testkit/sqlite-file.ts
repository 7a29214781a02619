/** A migrated SQLite database and its file, with a simple row to write and read. */
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Database, Queries } from '../src/platform/database/database.ts'
import { migrate } from '../src/migrations/migrations.ts'
import { openSqlite } from '../src/platform/database/sqlite.ts'
import { fixedClock } from './clock.ts'
import { placeMigratedSqlite, temporaryFolder } from './databases.ts'

export async function newSqliteFile(t: Pick<TestContext, 'after'>): Promise<{ database: Database; file: string }> {
  const file = join(temporaryFolder(t), 'sallyport.db')
  placeMigratedSqlite(file)
  const database = openSqlite(file)
  t.after(() => database.close())
  await migrate(database, fixedClock().now)
  return { database, file }
}

export async function put(queries: Queries, key: string): Promise<void> {
  await queries.insertInto('rate_limits').values({ key, full_at: 0 }).execute()
}

export async function keys({ queries }: Database): Promise<string[]> {
  const rows = await queries.selectFrom('rate_limits').select('key').orderBy('key').execute()
  return rows.map(({ key }) => key)
}
