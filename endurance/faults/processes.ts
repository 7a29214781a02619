/** Signals to one process that serves calls: a worker if there are several, else the instance itself. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { isListening } from '../../server/testkit/ports.ts'
import type { SetUp } from './set-ups.ts'

const hasWorkers = ({ kind }: SetUp) => kind === 'SQLite, 2 workers'

function answering(setUp: SetUp): number {
  const { pid } = setUp.victim
  if (!hasWorkers(setUp)) return pid
  return childrenOf(pid)[0] ?? pid
}

function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
  return children.filter((text) => text.trim() !== '').map(Number)
}

export async function killOne(setUp: SetUp): Promise<void> {
  process.kill(answering(setUp), 'SIGKILL')
  if (!hasWorkers(setUp)) await setUp.victim.exited()
}

export function pauseOne(setUp: SetUp): void {
  process.kill(answering(setUp), 'SIGSTOP')
}

export function resumeOne(setUp: SetUp): void {
  process.kill(answering(setUp), 'SIGCONT')
}

/** To every process: a service manager may do so. */
export async function signalAll({ instances }: SetUp, signals: readonly NodeJS.Signals[]): Promise<void> {
  for (let time = 0; time < 10; time++) {
    for (const signal of signals) {
      for (const { pid } of instances) for (const one of [pid, ...childrenOf(pid)]) process.kill(one, signal)
    }
    await sleep(200)
  }
}

const debuggerPort = 9229

/** SIGUSR1 opens Node's debugger in a process that does not handle it. */
export async function openDebugger(): Promise<string> {
  return (await isListening(debuggerPort)) ? 'a debugger listens' : ''
}

let stuck = 0

export function stickOne(setUp: SetUp): void {
  stuck = answering(setUp)
  process.kill(stuck, 'SIGSTOP')
}

/** Says so if it is still there. */
export function notReplaced({ victim: { pid } }: SetUp): string {
  const children = childrenOf(pid)
  if (children.includes(stuck)) {
    process.kill(stuck, 'SIGCONT')
    return 'the stuck worker was not killed'
  }
  return children.length === 2 ? '' : `${children.length} workers are left`
}
