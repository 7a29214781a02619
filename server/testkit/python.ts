/** Python, for what has to be written by another hand than ours. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { installOnDebian } from './programs.ts'

const run = promisify(execFile)

/** The first Python that has the package; undefined where none has. */
export async function findPython(packageName: string): Promise<string | undefined> {
  for (const python of ['python3', '/usr/bin/python3', 'python']) {
    try {
      await run(python, ['-c', `import ${packageName}`])
      return python
    } catch {
      continue
    }
  }
  return undefined
}

/** Installs it where that can be done. A test that finds none is skipped, and says why. */
export async function bringPython(packageName: string): Promise<void> {
  if ((await findPython(packageName)) === undefined) await installOnDebian(`python3-${packageName}`)
}
