/**
 * Moves what SQLite's write-ahead log holds into the database file, on a thread of its own: thousands of pages and two
 * fsyncs would hold up the event loop. It starts when the log is first long enough.
 */
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'

export interface Checkpoints {
  /** Tells how many frames the log holds. */
  note: (frames: number) => void
  close: () => Promise<unknown>
}

/** Seldom, and then more at once: pages that many calls write are moved once for all of them. */
const checkpointFrames = 4_000
/** Writers go on meanwhile, and the log starts again from its beginning only where none of their frames is left. */
const againFrames = 250

/** Where the thread does not keep up, the writer moves the frames itself. */
export const writersCheckpointFrames = 4 * checkpointFrames

export function createCheckpoints(file: string): Checkpoints {
  let worker: Worker | undefined
  let isRunning = false
  let lastFrames = 0
  let due = checkpointFrames
  const start = () => {
    const code = `(${thread.toString()})()`
    const url = `${pathToFileURL(file).href}?mode=rw`
    const limits = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 }
    const started = new Worker(code, { eval: true, workerData: url, env: {}, resourceLimits: limits })
    started.unref()
    started.on('message', () => {
      isRunning = false
      due = lastFrames + againFrames
    })
    // The writer's own checkpoints do without it.
    started.on('error', () => undefined)
    return started
  }
  return {
    note: (frames) => {
      if (frames < lastFrames) due = checkpointFrames
      lastFrames = frames
      if (frames < due || isRunning) return
      isRunning = true
      worker ??= start()
      worker.postMessage('checkpoint')
    },
    close: () => worker?.terminate() ?? Promise.resolve(),
  }
}

/** Runs by itself, as text: it can use nothing from around it. */
function thread(): void {
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads') as {
    parentPort: MessagePort
    workerData: string
  }
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const database = new DatabaseSync(workerData)
  database.exec('pragma synchronous = normal')
  parentPort.on('message', () => {
    try {
      database.exec('pragma wal_checkpoint(passive)')
    } catch {
      // What another process keeps from being moved is moved the next time.
    }
    parentPort.postMessage('done')
  })
}
