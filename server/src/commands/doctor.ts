/** Checks everything that the service depends on, and says what to fix. */
import { existsSync } from 'node:fs'
import { sql } from 'kysely'
import { systemClock } from '../platform/clock.ts'
import { readConfig, unknownSettings } from '../config/config.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../platform/database/database.ts'
import { followDatabaseClock } from '../platform/database/database-clock.ts'
import { isCurrent, isSuccessorDue, signerOf } from '../gateway/authority.ts'
import type { AuthorityDates } from '../gateway/authority.ts'
import { listAuthorities } from '../gateway/authority-store.ts'
import { usualPort } from '../gateway/gateway.ts'
import { findLastMigration, requiredMigration } from '../platform/database/migrate.ts'
import { reasonOf } from '../platform/database/wait-for-database.ts'
import { findingsOf } from '../config/findings.ts'
import type { Finding } from '../config/findings.ts'
import { assertOwnDirectory, databaseFile, masterKeySource, openDatabase } from '../platform/operations/instance.ts'
import { migrations } from '../migrations/migrations.ts'
import { openVault } from '../platform/vault/vault.ts'
import { errorText } from './error-text.ts'

const signs = { well: '✓', warning: '✓', wrong: '✗' }

export async function doctor(env: NodeJS.ProcessEnv): Promise<number> {
  const config = readConfig(env)
  assertOwnDirectory(config, { isService: false })
  const findings = findingsOf(config, unknownSettings(env), systemClock)
  findings.forEach(report)
  const ofDatabase = await checkDatabase(config)
  ofDatabase.forEach(report)
  return [...findings, ...ofDatabase].every(({ level }) => level !== 'wrong') ? 0 : 1
}

function report({ what, level, words }: Finding): void {
  process.stdout.write(`${signs[level]} ${what.padEnd(15)} ${level === 'warning' ? 'warning: ' : ''}${words}\n`)
}

async function checkDatabase(config: Config): Promise<Finding[]> {
  if (!config.databaseUrl.isSet && !existsSync(databaseFile(config))) {
    return [
      {
        what: 'database',
        level: 'well',
        words: `${databaseFile(config)} does not exist yet; the first start creates it`,
      },
    ]
  }
  const database = openDatabase(config)
  try {
    const schema = await checkSchema(config, database)
    // Without a current schema there is no clock or key to check, and a check must not create them.
    const hosts = await hostFindings(database)
    if (!schema.isCurrent) return [schema, ...hosts]
    const authority = authorityFinding(config, await listAuthorities(database.queries), systemClock())
    const checks = [checkWriting(database), checkClock(database), checkMasterKey(config, database)]
    return [schema, ...hosts, ...(await Promise.all(checks)), authority]
  } catch (error) {
    return [{ what: 'database', level: 'wrong', words: errorText(error) }]
  } finally {
    await database.close()
  }
}

async function checkSchema(config: Config, database: Database): Promise<Finding & { isCurrent: boolean }> {
  const applied = await findLastMigration(database.queries)
  const isCurrent = applied === migrations.length
  const isUsable = applied <= migrations.length || (await requiredMigration(database.queries)) <= migrations.length
  const kind = database.engine === 'sqlite' ? `SQLite, ${databaseFile(config)}` : 'PostgreSQL'
  const state = isCurrent
    ? 'schema up to date'
    : applied < migrations.length
      ? `schema ${applied} of ${migrations.length}; the next start migrates it`
      : `migrated by a newer version (schema ${applied}, this version knows ${migrations.length}); ${
          isUsable ? 'this version can run beside it' : 'start the newer version'
        }`
  return {
    what: 'database',
    level: isUsable ? 'well' : 'wrong',
    words: `${kind}, ${state}`,
    isCurrent,
  }
}

/** A standby is read-only, which is as it should be. */
async function hostFindings(database: Database): Promise<Finding[]> {
  const states = (await database.hosts?.()) ?? []
  return states.map(({ name, problem, error }) => ({
    what: 'database host',
    level: error === undefined ? 'well' : 'warning',
    words: `${name}: ${problem ?? 'takes writes'}`,
  }))
}

async function checkWriting(database: Database): Promise<Finding> {
  const what = 'writing'
  try {
    await database.probe()
    return { what, level: 'well', words: 'the database is writable' }
  } catch (error) {
    const way = database.engine === 'sqlite' ? 'Check the owner of its file and the disk.' : 'Connect to the primary.'
    return { what, level: 'wrong', words: `the database is not writable: ${reasonOf(error)}. ${way}` }
  }
}

/** Instances on PostgreSQL use its clock. If it is off by more, tokens and certificates may seem expired. */
const toleratedMs = 5_000

async function checkClock(database: Database): Promise<Finding> {
  if (database.engine === 'sqlite') return checkRecordedTime(database)
  return clockFinding((await followDatabaseClock(database, systemClock)).offsetMs())
}

export function clockFinding(exactMs: number): Finding {
  const what = 'clock'
  const offsetMs = Math.round(exactMs)
  const direction = offsetMs < 0 ? 'behind' : 'ahead of'
  if (Math.abs(offsetMs) <= toleratedMs) {
    return { what, level: 'well', words: `${Math.abs(offsetMs)} ms ${direction} the database's` }
  }
  const seconds = Math.round(Math.abs(offsetMs) / 1000)
  return {
    what,
    level: 'wrong',
    words: `${seconds} s ${direction} the database's. Synchronize both machines with NTP.`,
  }
}

/** SQLite has no clock of its own, but no record can be later than now. */
async function checkRecordedTime(database: Database): Promise<Finding> {
  const what = 'clock'
  const { rows } = await sql<{ at: number }>`select coalesce(max(at), 0) as at from audit_records`.execute(
    database.queries,
  )
  const behindMs = (rows[0]?.at ?? 0) - systemClock().getTime()
  if (behindMs <= toleratedMs) return { what, level: 'well', words: 'not behind the newest audit record' }
  const words = `${Math.round(behindMs / 1000)} s behind the newest audit record. Synchronize the clock with NTP.`
  return { what, level: 'wrong', words }
}

async function checkMasterKey(config: Config, database: Database): Promise<Finding> {
  const what = 'master key'
  try {
    const sealed = await database.queries.selectFrom('vault_keys').select('key_id').limit(1).executeTakeFirst()
    if (!sealed) return { what, level: 'well', words: 'nothing is encrypted yet' }
    await openVault({ database, readMasterKeys: masterKeySource(config).read, clock: systemClock })
    return { what, level: 'well', words: 'decrypts the database' }
  } catch (error) {
    return { what, level: 'wrong', words: errorText(error) }
  }
}

/** It renews itself, but only while the service runs. */
export function authorityFinding(
  { gatewayPort = usualPort, gatewayHost }: Pick<Config, 'gatewayPort' | 'gatewayHost'>,
  all: readonly AuthorityDates[],
  now: Date,
): Finding {
  const what = 'gateway'
  if (gatewayPort === 'off') return { what, level: 'well', words: 'off' }
  const place = `${gatewayHost}:${gatewayPort}`
  const current = all.filter((one) => isCurrent(one, now))
  const signer = signerOf(current, now)
  if (!signer) return { what, level: 'well', words: `${place}; the next start creates its authority` }
  const valid = `${place}, authority valid to ${signer.notAfter.toISOString().slice(0, 10)}`
  if (isSuccessorDue(current, now)) {
    const words = `${valid}, without a successor. Start the service, or look into its log: it creates one in time. Then tools need ca.pem again.`
    return { what, level: 'warning', words }
  }
  return { what, level: 'well', words: current.length > 1 ? `${valid}; its successor is in ca.pem already` : valid }
}
