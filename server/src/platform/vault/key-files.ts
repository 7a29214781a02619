/** The files that hold what only this machine may know: written whole or not at all, for the owner alone. */
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { Secret } from '../secret.ts'
import { ConfigError } from '../config/settings.ts'

/** The file's content; made first where there is none. Of several that make it at once, one wins and all read that. */
export function readOrMakeSecretFile(file: string, make: () => Secret): Secret {
  if (!existsSync(file)) {
    const draft = writeDraft(file, make())
    try {
      linkSync(draft, file)
      syncFolder(file)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      rmSync(draft)
    }
  }
  const content = readFileSync(file, 'utf8').trim()
  if (content === '') throw new ConfigError([`${file} is empty. Put back what it held.`])
  return new Secret(content)
}

/**
 * The new file belongs to whom the old one did, and the same group may read it: root may rotate the keys of a service
 * that runs as somebody else. A link stays one: what it leads to may be what others read, or what is backed up.
 */
export function replaceSecretFile(path: string, content: Secret): void {
  const file = existsSync(path) ? realpathSync(path) : path
  const draft = writeDraft(file, content)
  try {
    const old = statSync(file, { throwIfNoEntry: false })
    if (old && process.getuid?.() === 0) chownSync(draft, old.uid, old.gid)
    if (old && (old.mode & 0o007) === 0) chmodSync(draft, old.mode & 0o660)
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft)
    throw error
  }
  syncFolder(file)
}

function writeDraft(file: string, content: Secret): string {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  const handle = openSync(draft, 'wx', 0o600)
  try {
    writeSync(handle, `${content.reveal().trim()}\n`)
    fsyncSync(handle)
  } catch (error) {
    rmSync(draft)
    throw error
  } finally {
    closeSync(handle)
  }
  return draft
}

function syncFolder(file: string): void {
  const folder = openSync(dirname(file), 'r')
  fsyncSync(folder)
  closeSync(folder)
}
