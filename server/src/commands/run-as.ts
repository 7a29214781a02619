/**
 * `--user`: when started by root, the service drops root privileges permanently before it reads a setting, a key or the
 * database. From then on only that user and root can read its admin token.
 */
import {
  accessSync,
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { settings } from '../config/config.ts'
import { ConfigError, readSetting } from '../platform/config/settings.ts'
import { describeUser, findUser } from '../platform/operations/system-users.ts'
import type { SystemUser } from '../platform/operations/system-users.ts'

export function runAs(name: string, env: NodeJS.ProcessEnv): void {
  const user = findUser(name)
  if (!user) throw refused(`no user "${name}" in /etc/passwd. Create one: useradd --system --user-group sallyport`)
  // The group root can read many of root's files.
  if (user.uid === 0 || user.gid === 0) throw refused(`"${name}" has root privileges. Use a dedicated user`)
  const dataDir = ['DATABASE_URL', 'DATABASE_URL_FILE', 'DATABASE_URL_COMMAND'].some((setting) => env[setting])
    ? undefined
    : readSetting('SALLYPORT_DATA_DIR', settings.SALLYPORT_DATA_DIR, env)
  // Workers already run as that user, and so does a service that the service manager starts as that user.
  if (process.getuid?.() !== user.uid) {
    if (process.getuid?.() !== 0)
      throw refused(`only root can switch to "${name}". Start it with sudo, or as that user`)
    if (dataDir !== undefined) giveDataDirectory(dataDir, user)
    giveUpRoot(user)
    Object.assign(env, { USER: name, LOGNAME: name })
    delete env['HOME']
  }
  if (dataDir !== undefined) assertReachable(dataDir, constants.R_OK | constants.W_OK | constants.X_OK, name)
  // The user loads workers and pages later.
  assertReachable(process.execPath, constants.X_OK, name)
  assertReachable(process.argv[1] ?? process.execPath, constants.R_OK, name)
}

/** In this order: groups can't be changed after the user. */
function giveUpRoot({ name, uid, gid }: SystemUser): void {
  process.setgroups?.([])
  process.setgid?.(gid)
  process.setuid?.(uid)
  const groups = process.getgroups?.().filter((group) => group !== gid)
  const isDone = process.getuid?.() === uid && process.geteuid?.() === uid && process.getegid?.() === gid
  if (!isDone || groups?.length !== 0 || canBecomeRoot()) throw refused(`could not drop root privileges for "${name}"`)
}

function canBecomeRoot(): boolean {
  try {
    process.setuid?.(0)
    return true
  } catch {
    return false
  }
}

/**
 * Creates the directory if needed. An empty one that root owns is handed over. Otherwise the user has to own it
 * already.
 */
function giveDataDirectory(dataDir: string, user: SystemUser): void {
  if (!statSync(dataDir, { throwIfNoEntry: false })) {
    // The user needs access to the parent folders.
    const umask = process.umask(0o022)
    mkdirSync(dirname(dataDir), { recursive: true })
    process.umask(umask)
    mkdirSync(dataDir, { mode: 0o700 })
  }
  const { uid } = statSync(dataDir)
  if (uid === user.uid) return
  if (uid !== 0 || readdirSync(dataDir).length > 0) {
    throw new ConfigError([
      `SALLYPORT_DATA_DIR: "${dataDir}" belongs to ${describeUser(uid)}. Change its owner (chown -R ${user.name} "${dataDir}"), or use another directory.`,
    ])
  }
  // Use a file descriptor: the path could be replaced meanwhile.
  const handle = openSync(dataDir, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  try {
    if (fstatSync(handle).uid === 0) fchownSync(handle, user.uid, user.gid)
  } finally {
    closeSync(handle)
  }
}

function assertReachable(path: string, mode: number, name: string): void {
  try {
    accessSync(path, mode)
  } catch {
    throw refused(`"${name}" has no access to ${path}. Grant access, or use a path it can access`)
  }
}

function refused(reason: string): ConfigError {
  return new ConfigError([`--user: ${reason}.`])
}
