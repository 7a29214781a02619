/** Signals to one process that answers calls: a worker where there are several, else the instance itself. */
import { readFileSync } from 'node:fs'
import type { SetUp } from './set-ups.ts'

function answering({ kind, victim: { pid } }: SetUp): number {
  if (kind !== 'SQLite, 2 workers') return pid
  const [worker] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
  return Number(worker)
}

export async function killOne(setUp: SetUp): Promise<undefined> {
  process.kill(answering(setUp), 'SIGKILL')
  if (setUp.kind !== 'SQLite, 2 workers') await setUp.victim.exited()
}

export async function pauseOne(setUp: SetUp): Promise<undefined> {
  process.kill(answering(setUp), 'SIGSTOP')
}

export function resumeOne(setUp: SetUp): void {
  process.kill(answering(setUp), 'SIGCONT')
}
