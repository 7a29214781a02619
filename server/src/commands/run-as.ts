/**
 * `--user`: started by root, the service gives up root for good before it reads a setting, a key or the database. From
 * then on only that user and root can read its admin token.
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
  // The group root may read what is root's in many places.
  if (user.uid === 0 || user.gid === 0) throw refused(`"${name}" has root privileges. Use a dedicated user`)
  const dataDir = ['DATABASE_URL', 'DATABASE_URL_FILE', 'DATABASE_URL_COMMAND'].some((setting) => env[setting])
    ? undefined
    : readSetting(settings.dataDir, env)
  // Workers are that user from their start, and so is a service that its service manager starts so.
  if (process.getuid?.() !== user.uid) {
    if (process.getuid?.() !== 0)
      throw refused(`only root can switch to "${name}". Start it with sudo, or as that user`)
    if (dataDir !== undefined) giveDataDirectory(dataDir, user)
    giveUpRoot(user)
    Object.assign(env, { USER: name, LOGNAME: name })
    delete env['HOME']
  }
  if (dataDir !== undefined) assertReachable(dataDir, constants.R_OK | constants.W_OK | constants.X_OK, name)
  // Workers and pages are read later, as that user.
  assertReachable(process.execPath, constants.X_OK, name)
  assertReachable(process.argv[1] ?? process.execPath, constants.R_OK, name)
}

/** All three, in this order: once the user is changed, groups can't be. */
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

/** Makes it where there is none. One that is root's and empty is handed over; any other has to be that user's already. */
function giveDataDirectory(dataDir: string, user: SystemUser): void {
  if (!statSync(dataDir, { throwIfNoEntry: false })) {
    // The folders above have to let the user through.
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
  // By its handle: what the name leads to could be exchanged meanwhile.
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
