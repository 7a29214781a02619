/** A worker's IPC channel to the primary process. If that exits, Node ends the worker. */
import { ServiceError } from './platform/errors.ts'
import type { Figures } from './platform/operations/metrics.ts'
import { heartbeatMs } from './worker-heartbeats.ts'

export type ToWorker =
  | { kind: 'announce' }
  | { kind: 'stop' }
  | { kind: 'figures wanted'; round: number }
  | { kind: 'all figures'; question: number; all: Figures[] }
  | { kind: 'crew'; crew: Crew }

export type FromWorker =
  | { kind: 'ready' }
  | { kind: 'alive' }
  | { kind: 'all figures wanted'; question: number }
  | { kind: 'figures'; round: number; figures: Figures }

/** All workers, as the primary process sees them. */
export interface Crew {
  /** How many give no sign of life. */
  silent: number
  /** How many were replaced since the start. */
  replaced: number
}

/** How long to wait for the metrics of a worker that hangs. */
export const figuresPatienceMs = 5_000

interface Duties {
  /** Announces that the service is ready. One worker does so for all. */
  announce: () => void
  stop: () => void
  figures: () => Promise<Figures>
}

export interface FirstProcess {
  ready: (duties: Duties) => void
  figuresOfAll: () => Promise<Figures[]>
  crew: () => Crew
}

/** From now on this process says that its event loop is turning. */
export function linkToFirstProcess(): FirstProcess {
  setInterval(() => {
    tell({ kind: 'alive' })
  }, heartbeatMs).unref()
  let crew: Crew = { silent: 0, replaced: 0 }
  const questions = new Map<number, (all: Figures[]) => void>()
  let asked = 0
  return {
    crew: () => crew,
    ready: (duties) => {
      process.on('message', (message: ToWorker) => {
        if (message.kind === 'announce') duties.announce()
        if (message.kind === 'stop') duties.stop()
        if (message.kind === 'crew') crew = message.crew
        if (message.kind === 'all figures') questions.get(message.question)?.(message.all)
        if (message.kind !== 'figures wanted') return
        const give = (figures: Figures) => {
          tell({ kind: 'figures', round: message.round, figures })
        }
        // No response: the asking worker times out and reports it.
        duties.figures().then(give, () => undefined)
      })
      tell({ kind: 'ready' })
    },
    figuresOfAll: async () => {
      const question = ++asked
      const { promise, resolve, reject } = Promise.withResolvers<Figures[]>()
      const timer = setTimeout(() => {
        reject(new ServiceError('not_ready', { message: 'Not every worker reported its metrics in time.' }))
      }, figuresPatienceMs)
      questions.set(question, resolve)
      tell({ kind: 'all figures wanted', question })
      return promise.finally(() => {
        clearTimeout(timer)
        questions.delete(question)
      })
    },
  }
}

/** If the primary process is gone, this worker ends in a moment. */
function tell(message: FromWorker): void {
  process.send?.(message, undefined, undefined, () => undefined)
}
