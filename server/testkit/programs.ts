/** Programs that the tests need and a bare machine may lack. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

export function findProgram(names: readonly string[]): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isProgram)
}

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** All at once: apt-get takes seconds each time to read what there is. */
export async function installOnDebian(packages: readonly string[]): Promise<boolean> {
  if (packages.length === 0) return true
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return false
  say(`Installing ${packages.join(', ')} with apt-get (this can take minutes) …`)
  // Another installation may be running.
  const quietly = ['-qq', '-o', 'DPkg::Lock::Timeout=300']
  return (
    (await run('apt-get', [...quietly, 'update'])) &&
    (await run('apt-get', [...quietly, 'install', '--yes', '--no-install-recommends', ...packages]))
  )
}

/** Shows the end of the output only if the command failed. */
export async function run(command: string, args: string[]): Promise<boolean> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  try {
    const [code] = (await once(child, 'close')) as [number | null]
    const lines = output.split('\n').filter((line) => /^\S/.test(line))
    if (code !== 0) say(`That ended with ${code}: ${lines.slice(-2).join(' ')}`)
    return code === 0
  } catch (error) {
    say(`${command} could not be run: ${String(error)}`)
    return false
  }
}

export function say(line: string): void {
  process.stderr.write(`${line}\n`)
}
