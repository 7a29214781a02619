import { existsSync } from 'node:fs'
import { systemClock } from '../platform/clock.ts'
import type { Clock } from '../platform/clock.ts'
import { readConfig } from '../config/config.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../platform/database/database.ts'
import { assertUsable, findLastMigration } from '../platform/database/migrate.ts'
import { assertOwnDirectory, databaseFile, masterKeySource, openDatabase } from '../platform/operations/instance.ts'
import { migrations } from '../migrations/migrations.ts'
import { CommandRefused } from './command-refused.ts'

export interface Opened {
  config: Config
  source: ReturnType<typeof masterKeySource>
  database: Database
  clock: Clock
}

/**
 * For commands that may run while the service is running: opens its database and its source of master keys. Never
 * creates either.
 */
export async function withDatabase(
  env: NodeJS.ProcessEnv,
  work: (opened: Opened) => Promise<number>,
  /** `hasNoLimits`: no statement timeout. */
  { hasNoLimits = false } = {},
): Promise<number> {
  process.umask(0o077)
  const config = readConfig(env)
  assertOwnDirectory(config, { isService: false })
  if (!config.databaseUrl.isSet && !existsSync(databaseFile(config))) {
    throw new CommandRefused(
      `No database at ${databaseFile(config)}. Run this with the settings of the service (SALLYPORT_DATA_DIR or DATABASE_URL), or start the service once.`,
    )
  }
  // A key is created only if there is no database, and here there is one.
  const source = masterKeySource(config)
  await source.read()
  const database = openDatabase(config, { hasNoLimits })
  try {
    await assertCurrent(database)
    return await work({ config, source, database, clock: systemClock })
  } finally {
    await database.close()
  }
}

async function assertCurrent({ queries }: Database): Promise<void> {
  const applied = await findLastMigration(queries)
  if (applied > migrations.length) await assertUsable(queries, migrations.length)
  if (applied === 0) {
    throw new CommandRefused('The database is empty. Check the settings, or start the service once.')
  }
  if (applied < migrations.length) {
    throw new CommandRefused('The database has an older schema. Start the service once to migrate it.')
  }
}
