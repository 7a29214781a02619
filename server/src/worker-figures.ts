/** Runs in the primary process: when a worker is asked for metrics, collects them from all workers. */
import type { Figures } from './platform/operations/metrics.ts'
import { figuresPatienceMs } from './worker-link.ts'
import type { FromWorker, ToWorker } from './worker-link.ts'

interface Crew<Worker> {
  workers: () => Worker[]
  tell: (worker: Worker, message: ToWorker) => void
}

/** One worker's request, and the workers that have not responded yet. */
interface Round<Worker> {
  asker: Worker
  question: number
  missing: Set<Worker>
  all: Figures[]
  timer: NodeJS.Timeout
}

export function gatherFigures<Worker>({ workers, tell }: Crew<Worker>) {
  const rounds = new Map<number, Round<Worker>>()
  let rounded = 0
  const end = (id: number) => {
    clearTimeout(rounds.get(id)?.timer)
    rounds.delete(id)
  }
  const settle = (id: number, { asker, question, missing, all }: Round<Worker>) => {
    if (missing.size > 0) return
    end(id)
    tell(asker, { kind: 'all figures', question, all })
  }
  const begin = (asker: Worker, question: number) => {
    const id = ++rounded
    const missing = new Set([...workers(), asker])
    const timer = setTimeout(() => {
      end(id)
    }, figuresPatienceMs)
    rounds.set(id, { asker, question, missing, all: [], timer })
    for (const worker of missing) tell(worker, { kind: 'figures wanted', round: id })
  }
  return {
    take: (worker: Worker, message: FromWorker) => {
      if (message.kind === 'all figures wanted') begin(worker, message.question)
      if (message.kind !== 'figures') return
      const round = rounds.get(message.round)
      if (!round?.missing.delete(worker)) return
      round.all.push(message.figures)
      settle(message.round, round)
    },
    /** A worker has exited: stop waiting for it. */
    leave: (worker: Worker) => {
      for (const [id, round] of rounds) {
        if (round.asker === worker) end(id)
        else if (round.missing.delete(worker)) settle(id, round)
      }
    },
  }
}
