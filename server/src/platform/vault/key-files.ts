/** Secret files: written atomically, readable by their owner only. */
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

/** Reads the file, and creates it if it doesn't exist. If several processes create it at once, all read the same content. */
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
  if (content === '') throw new ConfigError([`${file} is empty. Restore its content.`])
  return new Secret(content)
}

/**
 * Keeps the old file's owner and group access: root may rotate the keys of a service that runs as another user. A symbolic
 * link is kept and its target replaced.
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
