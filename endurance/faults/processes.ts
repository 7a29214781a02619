/** Signals to one process that serves calls: a worker if there are several, else the instance itself. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SetUp } from './set-ups.ts'

const hasWorkers = ({ kind }: SetUp) => kind === 'SQLite, 2 workers'

function answering(setUp: SetUp): number {
  const { pid } = setUp.victim
  if (!hasWorkers(setUp)) return pid
  const [worker] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
  return Number(worker)
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

export async function hangUp({ instances }: SetUp): Promise<void> {
  for (let time = 0; time < 10; time++) {
    for (const one of instances) one.signal('SIGHUP')
    await sleep(200)
  }
}
