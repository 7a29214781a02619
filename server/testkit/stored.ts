/** What someone who steals the disk could read. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { recorded } from './audit.ts'
import type { TestService } from './service.ts'

/** Everything stored, as bytes: SQLite's files including the WAL, or each row of each PostgreSQL table. */
export async function stored({ database, config }: Pick<TestService, 'database' | 'config'>): Promise<Buffer> {
  if (database.engine === 'sqlite') {
    const files = readdirSync(config.dataDir).filter((name) => name.startsWith('sallyport.db'))
    assert.ok(files.includes('sallyport.db-wal'))
    return Buffer.concat(files.map((name) => readFileSync(join(config.dataDir, name))))
  }
  const { rows: tables } = await sql<{ name: string }>`
    select table_name as name from information_schema.tables where table_schema = 'public'`.execute(database.queries)
  assert.ok(tables.length > 10)
  const parts: Buffer[] = []
  for (const { name } of tables) {
    const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(name)}`.execute(database.queries)
    for (const value of rows.flatMap((row) => Object.values(row))) {
      parts.push(value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(`${String(value)}\n`))
    }
  }
  return Buffer.concat(parts)
}

/** Neither the database nor the log nor the record of connections has any of them in plain text. */
export async function assertInPlainNowhere(
  service: Pick<TestService, 'database' | 'config' | 'log'>,
  secrets: readonly string[],
): Promise<void> {
  const records = JSON.stringify(await recorded(service, 'connection.'))
  const found = Buffer.concat([await stored(service), Buffer.from(service.log.join('') + records)])
  for (const secret of secrets) assert.ok(!found.includes(secret), secret)
}
