/** The files of a run, in a folder that only their owner can enter. It is removed when this process ends. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codeOf } from '../config-folder.ts'
import { exitCodes } from '../exit-codes.ts'
import { CommandFailure } from '../failures.ts'

export interface PrivateFolder {
  path: string
  remove: () => void
}

export function makePrivateFolder(): PrivateFolder {
  const path = make()
  const remove = () => {
    process.off('exit', remove)
    rmSync(path, { recursive: true, force: true })
  }
  process.on('exit', remove)
  return { path, remove }
}

/** mkdtemp makes it for its owner alone, with a name that cannot be guessed. */
function make(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'sallyport-run-'))
  } catch (error) {
    throw new CommandFailure(exitCodes.unexpected, `no folder can be made in ${tmpdir()} (${codeOf(error)})`)
  }
}
