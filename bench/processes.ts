/** Processes of the bench and their CPU time and memory. It reads /proc, so it needs Linux. */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Scope {
  after: (ending: () => unknown) => void
}

/** It exits when its IPC channel to us closes, however we exit. */
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

/** Resolves with the port that the process listens on. */
export async function startListener(
  scope: Scope,
  file: string,
  args: string[],
): Promise<{ port: number; pid: number }> {
  const child = await startProcess(scope, file, args)
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return { port, pid: child.pid ?? 0 }
}

/** /proc counts in hundredths of a second (USER_HZ), whatever the kernel's tick is. */
const ticksPerSecond = 100

/** CPU time of all threads of a process so far, user and kernel. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name in brackets may contain spaces; the fields after it do not.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

/** CPU steal time since boot: the hypervisor ran something else. */
export function stolenSeconds(): number {
  const [, , , , , , , , stolen] = readFileSync('/proc/stat', 'utf8').split(/\s+/, 9)
  return Number(stolen) / ticksPerSecond
}

/** Resident memory in bytes: now, and at its peak. */
export function memoryOf(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const read = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1024
  return { now: read('VmRSS'), peak: read('VmHWM') }
}
