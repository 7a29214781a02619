/** Looks at everything that a running service relies on, and says of each thing whether it is well or what to mend. */
import { X509Certificate, createPrivateKey } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { systemClock } from '../platform/clock.ts'
import { readConfig, unknownSettings } from '../platform/config.ts'
import type { Config } from '../platform/config.ts'
import type { Database } from '../platform/database/database.ts'
import { lastMigration } from '../platform/database/migrate.ts'
import { adminTokenFile, databaseFile, masterKeySource, openDatabase } from '../platform/instance.ts'
import { migrations } from '../platform/migrations/migrations.ts'
import { openVault } from '../platform/vault/vault.ts'
import { errorText } from './error-text.ts'

interface Finding {
  what: string
  isWell: boolean
  words: string
}

export async function doctor(env: NodeJS.ProcessEnv): Promise<number> {
  const findings: Finding[] = []
  const report = (what: string, isWell: boolean, words: string) => {
    findings.push({ what, isWell, words })
    process.stdout.write(`${isWell ? '✓' : '✗'} ${what.padEnd(15)} ${words}\n`)
  }
  const config = readConfig(env)
  const unknown = unknownSettings(env)
  report(
    'settings',
    unknown.length === 0,
    unknown.length === 0 ? 'all are understood' : `not known: ${unknown.join(', ')}. Are they misspelt?`,
  )
  for (const { what, isWell, words } of [
    ...checkFiles(config),
    checkBaseUrl(config),
    checkTls(config),
    checkV1(config),
  ])
    report(what, isWell, words)
  for (const { what, isWell, words } of await checkDatabase(config)) report(what, isWell, words)
  return findings.every(({ isWell }) => isWell) ? 0 : 1
}

function checkFiles(config: Config): Finding[] {
  if (config.databaseUrl.isSet) return []
  if (!existsSync(config.dataDir)) {
    return [
      { what: 'data directory', isWell: true, words: `${config.dataDir} is not there yet; the first start makes it` },
    ]
  }
  const expected: [string, number][] = [
    [config.dataDir, 0o700],
    [databaseFile(config), 0o600],
    [join(config.dataDir, 'master-key'), 0o600],
    [adminTokenFile(config) ?? config.dataDir, config.adminToken.isSet ? 0o700 : 0o600],
  ]
  const loose = expected.filter(([file, mode]) => existsSync(file) && (statSync(file).mode & 0o777 & ~mode) !== 0)
  const words = loose.map(([file, mode]) => `chmod ${mode.toString(8)} ${file}`).join(' && ')
  return [
    {
      what: 'data directory',
      isWell: loose.length === 0,
      words: loose.length === 0 ? `${config.dataDir}, for its owner alone` : `others can read it: ${words}`,
    },
  ]
}

function checkBaseUrl({ baseUrl, host }: Config): Finding {
  const isHttps = baseUrl.protocol === 'https:'
  const words = isHttps ? baseUrl.origin : `${baseUrl.origin} (listening on ${host}: for this machine only)`
  return { what: 'base URL', isWell: true, words }
}

function checkTls({ tlsCertFile, tlsKeyFile, baseUrl }: Config): Finding {
  const what = 'TLS'
  if (tlsCertFile === undefined || tlsKeyFile === undefined) {
    const isHttps = baseUrl.protocol === 'https:'
    return {
      what,
      isWell: true,
      words: isHttps ? 'not served here: a proxy in front has to' : 'not served, not needed on loopback',
    }
  }
  try {
    const certificate = new X509Certificate(readFileSync(tlsCertFile))
    const problems = [
      certificate.checkPrivateKey(createPrivateKey(readFileSync(tlsKeyFile))) ? '' : 'the key does not belong to it',
      certificate.checkHost(baseUrl.hostname) === undefined ? `it does not name ${baseUrl.hostname}` : '',
      certificate.validToDate <= systemClock() ? `it expired on ${certificate.validTo}` : '',
      certificate.validFromDate > systemClock() ? `it is valid only from ${certificate.validFrom}` : '',
    ].filter((problem) => problem !== '')
    const words =
      problems.length === 0
        ? `${tlsCertFile}, valid to ${certificate.validTo}`
        : `${tlsCertFile}: ${problems.join('; ')}. Get another certificate.`
    return { what, isWell: problems.length === 0, words }
  } catch (error) {
    return {
      what,
      isWell: false,
      words: `${tlsCertFile} or ${tlsKeyFile} can not be used: ${(error as Error).message}`,
    }
  }
}

/** Not wrong, but to be known: the contract's envelopes are tied to nothing, and a stranger may be a client too. */
function checkV1({ v1Binding, v1Registration, v1Read }: Config): Finding {
  const warnings = [
    v1Binding === 'optional' && v1Registration === 'open'
      ? 'anyone may register, and a relay can mix envelopes that are not bound: SALLYPORT_V1_BINDING=required or ' +
        'SALLYPORT_V1_REGISTRATION=closed ends that'
      : '',
    v1Read === 'recipient' && v1Binding === 'optional'
      ? 'whoever relays a read that is not bound can have its result encrypted to a key of their own (SALLYPORT_V1_READ)'
      : '',
  ].filter((words) => words !== '')
  const words = warnings.length === 0 ? 'envelopes are bound, or clients known' : `a warning: ${warnings.join('; ')}`
  return { what: 'legacy v1', isWell: true, words }
}

async function checkDatabase(config: Config): Promise<Finding[]> {
  if (!config.databaseUrl.isSet && !existsSync(databaseFile(config))) {
    return [
      { what: 'database', isWell: true, words: `${databaseFile(config)} is not there yet; the first start makes it` },
    ]
  }
  const database = openDatabase(config)
  try {
    const schema = await checkSchema(config, database)
    // What is not there yet has no clock or key to disagree with, and looking must not make it.
    if (!schema.isCurrent) return [schema]
    return [schema, await checkClock(database), await checkMasterKey(config, database)]
  } catch (error) {
    return [{ what: 'database', isWell: false, words: errorText(error) }]
  } finally {
    await database.close()
  }
}

async function checkSchema(config: Config, database: Database): Promise<Finding & { isCurrent: boolean }> {
  const tables = await database.queries.introspection.getTables()
  const isThere = tables.some(({ name }) => name === 'migrations')
  const applied = isThere ? await lastMigration(database.queries) : 0
  const isCurrent = applied === migrations.length
  const kind = database.engine === 'sqlite' ? `SQLite, ${databaseFile(config)}` : 'PostgreSQL'
  const state = isCurrent
    ? 'schema up to date'
    : applied < migrations.length
      ? `schema ${applied} of ${migrations.length}; the next start brings it up`
      : `made by a newer version (schema ${applied}, this one knows ${migrations.length}); start that one`
  return { what: 'database', isWell: applied <= migrations.length, words: `${kind}, ${state}`, isCurrent }
}

/** Times decide what has expired, so instances and database must agree on them. */
async function checkClock(database: Database): Promise<Finding> {
  const what = 'clock'
  const now = systemClock().getTime()
  const { rows } = await (
    database.engine === 'postgres'
      ? sql<{ at: number }>`select (extract(epoch from clock_timestamp()) * 1000)::bigint as at`
      : sql<{ at: number }>`select coalesce(max(at), 0) as at from audit_records`
  ).execute(database.queries)
  const other = rows[0]?.at ?? 0
  const off = database.engine === 'postgres' ? Math.abs(now - other) : Math.max(0, other - now)
  if (off <= 5_000)
    return {
      what,
      isWell: true,
      words: database.engine === 'postgres' ? `within ${off} ms of the database's` : 'not behind what is on record',
    }
  return { what, isWell: false, words: `${Math.round(off / 1000)} s off. Synchronise the clock (NTP).` }
}

async function checkMasterKey(config: Config, database: Database): Promise<Finding> {
  const what = 'master key'
  try {
    const sealed = await database.queries.selectFrom('vault_keys').select('key_id').limit(1).executeTakeFirst()
    if (!sealed) return { what, isWell: true, words: 'nothing is sealed yet' }
    await openVault({ database, readMasterKeys: masterKeySource(config).read, clock: systemClock })
    return { what, isWell: true, words: 'opens the database' }
  } catch (error) {
    return { what, isWell: false, words: errorText(error) }
  }
}
