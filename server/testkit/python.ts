/** Python, for independent implementations. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The first Python that has the packages (`requests, httpx`), if any. */
export async function findPython(packages: string): Promise<string | undefined> {
  for (const python of ['python3', '/usr/bin/python3', 'python']) {
    try {
      await run(python, ['-c', `import ${packages}`])
      return python
    } catch {
      continue
    }
  }
  return undefined
}
