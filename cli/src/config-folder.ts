/**
 * The folder for credentials, by the conventions of each system. The folder and its files are readable only by their
 * owner. Files are replaced atomically, so that none is ever incomplete.
 */
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, posix, win32 } from 'node:path'
import { exitCodes } from './exit-codes.ts'
import { CommandFailure } from './failures.ts'
import type { Shell } from './shell.ts'

type Place = Pick<Shell, 'env' | 'platform' | 'home'>

export function configFolder(place: Place): string {
  const folder = findConfigFolder(place)
  if (folder !== undefined) return folder
  throw new CommandFailure(exitCodes.credential, 'no home directory to store credentials in (HOME)', {
    hint: 'Set SALLYPORT_CONFIG_DIR.',
  })
}

/**
 * Undefined without a home directory. A relative one is ignored: tokens would be written to and read from the current
 * directory.
 */
export function findConfigFolder({ env, platform, home }: Place): string | undefined {
  const given = env['SALLYPORT_CONFIG_DIR']
  if (given) return given
  if (platform === 'win32') {
    const roaming = env['APPDATA'] || win32.join(home, 'AppData', 'Roaming')
    return win32.isAbsolute(roaming) ? win32.join(roaming, 'sallyport') : undefined
  }
  // The XDG specification says to ignore relative paths.
  const xdg = env['XDG_CONFIG_HOME'] ?? ''
  if (platform !== 'darwin' && posix.isAbsolute(xdg)) return posix.join(xdg, 'sallyport')
  if (!posix.isAbsolute(home)) return undefined
  return posix.join(home, ...(platform === 'darwin' ? ['Library', 'Application Support'] : ['.config']), 'sallyport')
}

/** Undefined if the file does not exist. Throws if other users can read it. */
export function readPrivate(file: string, platform: NodeJS.Platform): string | undefined {
  try {
    const { mode } = statSync(file)
    if (platform !== 'win32' && (mode & 0o077) !== 0) {
      throw new CommandFailure(
        exitCodes.credential,
        `other users can read ${file} (mode ${(mode & 0o777).toString(8)})`,
        {
          hint: `Its tokens may have leaked. Replace them, or if you are sure they haven't: chmod 600 ${file}`,
        },
      )
    }
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return undefined
    if (error instanceof CommandFailure) throw error
    throw new CommandFailure(exitCodes.credential, `${file} can't be read (${codeOf(error)})`)
  }
}

/** A file that is known to be writable, to be used before a token is created that has to be stored in it. */
export interface Staged {
  keep: (content: string) => void
  discard: () => void
}

export function stagePrivate(file: string): Staged {
  const folder = dirname(file)
  const draft = `${file}.${randomBytes(6).toString('hex')}.tmp`
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const descriptor = openSync(draft, 'wx', 0o600)
    return {
      keep: (content) => {
        writeSync(descriptor, content)
        fsyncSync(descriptor)
        closeSync(descriptor)
        // Regardless of the umask.
        chmodSync(draft, 0o600)
        renameSync(draft, file)
      },
      discard: () => {
        closeSync(descriptor)
        rmSync(draft, { force: true })
      },
    }
  } catch (error) {
    throw new CommandFailure(exitCodes.unexpected, `${folder} can't be written to (${codeOf(error)})`)
  }
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
}
