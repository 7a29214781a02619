/** The files that hold what only this machine may know: written whole or not at all, for the owner alone. */
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { Secret } from '../secret.ts'

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
  return new Secret(readFileSync(file, 'utf8').trim())
}

export function replaceSecretFile(file: string, content: Secret): void {
  renameSync(writeDraft(file, content), file)
  syncFolder(file)
}

function writeDraft(file: string, content: Secret): string {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  const handle = openSync(draft, 'wx', 0o600)
  writeSync(handle, `${content.reveal().trim()}\n`)
  fsyncSync(handle)
  closeSync(handle)
  return draft
}

function syncFolder(file: string): void {
  const folder = openSync(dirname(file), 'r')
  fsyncSync(folder)
  closeSync(folder)
}
