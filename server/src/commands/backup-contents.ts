/** What has to be true of a file that the service is to run on: whole, ours, not newer than we are, and our keys open it. */
import type { DatabaseSync } from 'node:sqlite'
import { DatabaseTooNew } from '../platform/database/migrate.ts'
import { DatabaseDamaged, inspect } from '../platform/database/sqlite-copy.ts'
import type { MasterKey } from '../platform/vault/master-keys.ts'
import { assertOpensDataKeys } from '../platform/vault/vault.ts'
import type { SealedDataKey } from '../platform/vault/vault.ts'
import { migrations } from '../migrations/migrations.ts'
import { CommandRefused } from './command-refused.ts'

export interface BackupContents {
  schema: number
  records: number
  /** When the newest audit record was written. */
  newestAt: Date | undefined
}

/** `name` is the file as the operator knows it. */
export function readContents(draft: string, name: string, masterKeys: MasterKey[]): BackupContents {
  try {
    return inspect(draft, (database) => contentsOf(database, name, masterKeys))
  } catch (error) {
    if (!(error instanceof DatabaseDamaged)) throw error
    throw new CommandRefused(`${name} is not a complete database: ${error.message}. Use another backup.`)
  }
}

function contentsOf(database: DatabaseSync, name: string, masterKeys: MasterKey[]): BackupContents {
  const numbers = (query: string) => database.prepare(query).get() as Record<string, number | null>
  const tables = `select count(*) as found from sqlite_schema where name in ('migrations', 'vault_keys', 'audit_records')`
  if (numbers(tables)['found'] !== 3) {
    throw new CommandRefused(`${name} is a SQLite database, but not one of Sallyport. Check the name.`)
  }
  const schema = numbers('select max(number) as schema from migrations')['schema'] ?? 0
  if (schema > migrations.length) throw new DatabaseTooNew(schema, migrations.length)
  assertOpensDataKeys(masterKeys, database.prepare('select * from vault_keys').all() as unknown as SealedDataKey[])
  const { records, newest } = numbers('select count(*) as records, max(at) as newest from audit_records')
  return { schema, records: records ?? 0, newestAt: newest ? new Date(newest) : undefined }
}
