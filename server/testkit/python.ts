/** Python, for independent implementations. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { installOnDebian } from './programs.ts'

const run = promisify(execFile)

/** The first Python that has the package, if any. */
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

/** Installs it if possible. A test without one is skipped, with the reason. */
export async function bringPython(packageName: string): Promise<void> {
  if ((await findPython(packageName)) === undefined) await installOnDebian(`python3-${packageName}`)
}
