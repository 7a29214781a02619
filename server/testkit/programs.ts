/** Programs that the tests need and a bare machine may lack. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Installs missing programs if possible. A test whose program is still missing fails and names it. */
export async function bringPrograms(names: readonly string[]): Promise<void> {
  for (const name of names) if (findProgram([name]) === undefined) await installOnDebian(name)
}

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

export async function installOnDebian(name: string): Promise<boolean> {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return false
  say(`Installing the package ${name} with apt-get (this can take minutes) …`)
  // Another installation may be running.
  const quietly = ['-qq', '-o', 'DPkg::Lock::Timeout=300']
  return (
    (await run('apt-get', [...quietly, 'update'])) &&
    (await run('apt-get', [...quietly, 'install', '--yes', '--no-install-recommends', name]))
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
