/** The data directory, database and keys of an instance. Used by the service and the operator's commands. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { adminTokenForm, isAdminToken } from '../config/platform-settings.ts'
import type { PlatformConfig } from '../config/platform-settings.ts'
import type { Database } from '../database/database.ts'
import { openPostgres } from '../database/postgres.ts'
import type { OnChosen } from '../database/postgres-primary.ts'
import { openSqlite } from '../database/sqlite.ts'
import type { Log } from './log.ts'
import type { Secret } from '../secret.ts'
import { ConfigError } from '../config/settings.ts'
import { describeUser, userName } from './system-users.ts'
import { mintToken } from '../tokens.ts'
import { readOrMakeSecretFile, replaceSecretFile } from '../vault/key-files.ts'
import { formatMasterKeys, newMasterKey, parseMasterKeys } from '../vault/master-keys.ts'
import type { MasterKey } from '../vault/master-keys.ts'
import type { MasterKeySource } from '../vault/rotate.ts'

export function databaseFile(config: PlatformConfig): string {
  return join(config.dataDir, 'sallyport.db')
}

export function adminTokenFile(config: PlatformConfig): string | undefined {
  return config.adminToken.isSet ? config.adminToken.file : join(config.dataDir, 'admin-token')
}

const ourFiles = /^(?:sallyport\.db|master-key|admin-token)/

/**
 * Refuses a data directory that belongs to another user, who could not read files written here. Root may run commands,
 * which keep each file's owner, but not the service.
 */
export function assertOwnDirectory(
  { dataDir, databaseUrl }: PlatformConfig,
  { isService }: { isService: boolean },
): void {
  const own = process.geteuid?.()
  if (databaseUrl.isSet || own === undefined || (own === 0 && !isService)) return
  const owner = ownerOf(dataDir)
  if (owner === undefined || owner === own) return
  const name = userName(owner)
  const how =
    name === undefined
      ? 'run it as that user'
      : isService
        ? `start it with --user ${name}`
        : `run it with sudo -u ${name}`
  throw new ConfigError([
    `SALLYPORT_DATA_DIR: "${dataDir}" belongs to ${describeUser(owner)}, but this process runs as ${describeUser(own)}. If that is intended, ${how}.`,
  ])
}

/** Undefined if the directory doesn't exist yet. */
function ownerOf(dataDir: string): number | undefined {
  try {
    return statSync(dataDir, { throwIfNoEntry: false })?.uid
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error
    throw new ConfigError([
      `SALLYPORT_DATA_DIR: "${dataDir}" is not accessible to ${describeUser(process.geteuid?.() ?? 0)}.`,
    ])
  }
}

/** Creates it with mode 0700. An existing directory that holds other files is not restricted: others may need them. */
export function prepareDataDirectory(config: PlatformConfig): void {
  const { dataDir } = config
  assertOwnDirectory(config, { isService: true })
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if ((statSync(dataDir).mode & 0o077) === 0) return
  const others = readdirSync(dataDir).filter((name) => !ourFiles.test(name) && name !== 'lost+found')
  if (others.length > 0) {
    throw new ConfigError([
      `SALLYPORT_DATA_DIR: "${dataDir}" is accessible to other users and contains other files. Use a separate directory.`,
    ])
  }
  chmodSync(dataDir, 0o700)
}

/** `hasNoLimits` is for migrations, whose statements may take long. */
export function openDatabase(
  config: PlatformConfig,
  { hasNoLimits = false, log }: { hasNoLimits?: boolean; log?: Log } = {},
): Database {
  const url = config.databaseUrl.read()
  const { databaseInsecure: isInsecure, databaseConnections: poolSize } = config
  const onChosen: OnChosen = (host, passedOver) => {
    const problems = passedOver.map(({ name, problem }) => `${name}: ${problem}`)
    log?.[problems.length > 0 ? 'warn' : 'info']({ host, passed_over: problems }, 'chose a PostgreSQL host')
  }
  if (url) return openPostgres(url, { isInsecure, poolSize, hasNoLimits, onChosen })
  const file = databaseFile(config)
  removeCallJournal(`${file}-calls`)
  return openSqlite(file)
}

/** Version 0.1 had a journal of calls. After a crash it may hold records that are not in the database yet. */
function removeCallJournal(file: string): void {
  if (!existsSync(file)) return
  if (readFileSync(file).some((byte) => byte !== 0)) {
    throw new ConfigError([
      `${file} contains call records that version 0.1 has not moved to the database. Start and stop that version once.`,
    ])
  }
  for (const name of [file, `${file}-lock`]) rmSync(name, { force: true })
}

export function readAdminToken(config: PlatformConfig): Secret {
  const given = config.adminToken.read()
  if (given) return given
  const file = join(config.dataDir, 'admin-token')
  const token = readOrMakeSecretFile(file, () => mintToken('admin'))
  // A truncated file would leave a token that can be guessed.
  if (!isAdminToken(token)) throw new ConfigError([`${file} must contain ${adminTokenForm}. Restore its content.`])
  return token
}

export type KeySource = Omit<MasterKeySource, 'read'> & { read: () => Promise<MasterKey[]> }

/** Created on first start. If there is a database already, a missing key is an error: a new one could not decrypt it. */
export function masterKeySource(config: PlatformConfig): KeySource {
  const { masterKey, masterKeyVault } = config
  const own = join(config.dataDir, 'master-key')
  // A file that Vault's ciphertext is in can't be written from here.
  const file = masterKeyVault ? undefined : masterKey.isSet ? masterKey.file : own
  const readGiven = async () => {
    if (!masterKey.isSet) return readOwnKey(config, own)
    if (!masterKeyVault) return masterKey.read()
    const { unwrapMasterKeys } = await import('../vault/transit.ts')
    return unwrapMasterKeys(config, masterKeyVault)
  }
  const read = async () => {
    const given = await readGiven()
    if (!given) throw new ConfigError([`${masterKey.name} gives nothing.`])
    try {
      return parseMasterKeys(given)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      const where = masterKeyVault ? 'What Vault decrypted' : (file ?? masterKey.name)
      throw new ConfigError([`${where}: ${error.message}.`])
    }
  }
  if (file === undefined) return { read, write: undefined }
  const write = (keys: MasterKey[]) => {
    replaceSecretFile(file, formatMasterKeys(keys))
  }
  return { read, write }
}

function readOwnKey(config: PlatformConfig, file: string): Secret {
  if (!existsSync(file) && existsSync(databaseFile(config))) {
    throw new ConfigError([
      `${file} is missing, and ${databaseFile(config)} cannot be decrypted without it. Restore it.`,
    ])
  }
  return readOrMakeSecretFile(file, () => newMasterKey().text)
}
