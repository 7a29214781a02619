/** Processes of the bench and what the system says of them. It reads /proc, so it runs on Linux. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Scope {
  after: (ending: () => unknown) => void
}

/** It ends when its channel to us does, however we end. */
export async function startProcess(scope: Scope, file: string, args: string[] = []): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, file), args, { execArgv: [] })
  const exit = once(child, 'exit')
  scope.after(async () => {
    child.kill('SIGKILL')
    await exit
  })
  await once(child, 'spawn')
  return child
}

/** One that listens says where. */
export async function startListener(
  scope: Scope,
  file: string,
  args: string[],
): Promise<{ port: number; pid: number }> {
  const child = await startProcess(scope, file, args)
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return { port, pid: child.pid ?? 0 }
}

/** The kernel counts in hundredths of a second, whatever its own tick is. */
const ticksPerSecond = 100

/** What all threads of a process have used so far, in the kernel's part too. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name in brackets may hold spaces; what follows it does not.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

/** CPU steal time since boot: the host of this virtual machine ran something else. */
export function stolenSeconds(): number {
  const [, , , , , , , , stolen] = readFileSync('/proc/stat', 'utf8').split(/\s+/, 9)
  return Number(stolen) / ticksPerSecond
}

/** Physical memory in bytes: now, and the most it ever was. */
export function memoryOf(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const read = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1024
  return { now: read('VmRSS'), peak: read('VmHWM') }
}
