/**
 * Puts a backup in place of SQLite's database while the service is stopped. Everything is prepared on a copy beside it, so
 * a restore that fails has changed nothing. `--in-place` does the rest for a database that PostgreSQL's tools restored.
 */
import { existsSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { readConfig } from '../../config/config.ts'
import type { Config } from '../../config/config.ts'
import { migrate } from '../../migrations/migrations.ts'
import { systemClock } from '../../platform/clock.ts'
import { openSqlite } from '../../platform/database/sqlite.ts'
import {
  copyFile,
  freeBytes,
  holdAlone,
  isTaken,
  openSource,
  replaceFile,
  withDraft,
} from '../../platform/database/sqlite-copy.ts'
import { assertOwnDirectory, databaseFile, masterKeySource, openDatabase } from '../../platform/operations/instance.ts'
import type { MasterKey } from '../../platform/vault/master-keys.ts'
import { readContents } from '../backup-contents.ts'
import { CommandRefused } from '../command-refused.ts'
import { withDatabase } from '../with-database.ts'
import { actAsOwnerOf } from './act-as-owner.ts'
import { carryOver } from './carry-over.ts'
import { report } from './report.ts'
import { settleStore } from './settle-store.ts'
import { settleRestored } from './settle.ts'

const mebibyte = 1024 * 1024
const isRunning = 'The service is running on this database. Stop it (all of its processes), then restore.'

export async function restore(env: NodeJS.ProcessEnv, options: string[]): Promise<number> {
  const [given, ...rest] = options
  if (given === undefined || rest.length > 0 || (given.startsWith('-') && given !== '--in-place')) {
    process.stderr.write('restore needs a backup: sallyport-server restore <file>, or --in-place for PostgreSQL\n')
    return 2
  }
  if (given === '--in-place') return settleInPlace(env)
  process.umask(0o077)
  const config = readConfig(env)
  assertOwnDirectory(config, { isService: false })
  if (config.databaseUrl.isSet) {
    throw new CommandRefused(
      "The database is PostgreSQL (DATABASE_URL). Restore it with PostgreSQL's own tools, then run sallyport-server restore --in-place: docs/runbook.md has the commands.",
    )
  }
  await restoreFile(config, resolve(given), await readGivenKeys(config))
  return 0
}

/** A new key could not decrypt the backup, so none is created. */
async function readGivenKeys(config: Config): Promise<MasterKey[]> {
  const own = join(config.dataDir, 'master-key')
  if (!config.masterKey.isSet && !existsSync(own)) {
    throw new CommandRefused(
      `No master key: put the one that was in use at the time of the backup at ${own}, or set SALLYPORT_MASTER_KEY.`,
    )
  }
  return masterKeySource(config).read()
}

async function restoreFile(config: Config, source: string, masterKeys: MasterKey[]): Promise<void> {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o700 })
  const isReplacing = existsSync(databaseFile(config))
  const file = isReplacing ? realpathSync(databaseFile(config)) : databaseFile(config)
  assertSource(source, file, config.diskFloorBytes)
  const backup = openSource(source)
  actAsOwnerOf(dirname(file))
  const held = isReplacing ? holdAlone(file) : undefined
  if (held === 'in_use') throw new CommandRefused(isRunning)
  const aside = `${file}.replaced-${systemClock()
    .toISOString()
    .replace(/[-:]|\.\d+/g, '')}`
  if (isTaken(aside)) throw new CommandRefused(`${aside} exists. Try again.`)
  try {
    await withDraft(file, async (draft) => {
      copyFile(backup, draft)
      readContents(draft, source, masterKeys)
      await onDraft(draft, (database) => migrate(database, systemClock))
      const comparison = typeof held === 'object' ? carryOver(held, draft) : undefined
      const settlement = await onDraft(draft, (database) => settleRestored(database, masterKeys, comparison))
      replaceFile(draft, file, aside)
      report({ file, aside: isReplacing ? aside : undefined, comparison, settlement })
    })
  } finally {
    if (typeof held === 'object') held.close()
  }
}

async function onDraft<T>(draft: string, work: (database: ReturnType<typeof openSqlite>) => Promise<T>): Promise<T> {
  const database = openSqlite(draft)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

function assertSource(source: string, file: string, floorBytes: number): void {
  const found = statSync(source, { throwIfNoEntry: false })
  if (!found) throw new CommandRefused(`${source} does not exist.`)
  if (!found.isFile()) throw new CommandRefused(`${source} is not a file.`)
  if (existsSync(file) && statSync(file).ino === found.ino) {
    throw new CommandRefused(`${source} is the service's own database. Name a backup.`)
  }
  if (statSync(`${source}-wal`, { throwIfNoEntry: false })?.size) {
    throw new CommandRefused(
      `${source}-wal exists, so ${source} alone is not complete. Use a file that sallyport-server backup wrote.`,
    )
  }
  const needed = found.size + floorBytes
  const free = freeBytes(dirname(file))
  if (free >= needed) return
  throw new CommandRefused(
    `Restoring needs ${Math.ceil(needed / mebibyte)} MiB in ${dirname(file)}, as the replaced database is kept, and ${Math.floor(free / mebibyte)} MiB are free. Free some first.`,
  )
}

/** The database is restored already, and only has to be made fit for service. */
async function settleInPlace(env: NodeJS.ProcessEnv): Promise<number> {
  const config = readConfig(env)
  await assertNobodyServes(config)
  return withDatabase(env, async ({ source, database }) => {
    const settlement = await settleRestored(database, await source.read(), undefined)
    report({ file: undefined, aside: undefined, comparison: undefined, settlement })
    return 0
  })
}

async function assertNobodyServes(config: Config): Promise<void> {
  if (!config.databaseUrl.isSet) {
    const file = databaseFile(config)
    const held = existsSync(file) ? holdAlone(file) : undefined
    if (held === 'in_use') throw new CommandRefused(isRunning)
    if (typeof held === 'object') held.close()
    return
  }
  const database = openDatabase(config)
  try {
    if ((await settleStore.countOtherSessions(database.queries)) > 0) throw new CommandRefused(isRunning)
  } finally {
    await database.close()
  }
}
