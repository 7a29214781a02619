import { systemClock } from '../platform/clock.ts'
import type { Clock } from '../platform/clock.ts'
import { readConfig } from '../platform/config.ts'
import type { Config } from '../platform/config.ts'
import type { Database } from '../platform/database/database.ts'
import { assertOwnDirectory, masterKeySource, openDatabase } from '../platform/instance.ts'

interface Opened {
  config: Config
  source: ReturnType<typeof masterKeySource>
  database: Database
  clock: Clock
}

/** For commands that may run beside the service: its database and where its master keys come from, until they are done. */
export async function withDatabase(env: NodeJS.ProcessEnv, work: (opened: Opened) => Promise<number>): Promise<number> {
  process.umask(0o077)
  const config = readConfig(env)
  assertOwnDirectory(config, { isService: false })
  const source = masterKeySource(config)
  // Before the database: opening it would make an empty one, beside which a missing key is taken for lost.
  source.read()
  const database = openDatabase(config)
  try {
    return await work({ config, source, database, clock: systemClock })
  } finally {
    await database.close()
  }
}
