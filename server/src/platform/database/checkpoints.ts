/**
 * Checkpoints SQLite's write-ahead log (moves it into the database file) on a worker thread. SQLite would do it inside a
 * commit, on the event loop: 20 ms for every 1,000 pages, and after a long read, such as a backup, there may be any number
 * of them. Only the last few pages, committed while the thread was working, are moved here, so that the log can restart.
 */
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { DatabaseSync } from 'node:sqlite'
import type { WalFrames } from './wal-frames.ts'

export interface Checkpoints {
  /** Call it after a commit. */
  committed: () => void
  /** When this returns, the thread has closed the file. The promise resolves once the thread has ended. */
  close: () => Promise<void>
}

/** Checkpoint rarely: pages that many calls have written are then moved only once. */
const framesAtOnce = 4_000
/** After this many rounds in which new pages arrived meanwhile, the remaining few are moved on the event loop. */
const mostRounds = 20
const fewFrames = (inLog: number) => Math.max(250, inLog / 50)
/** After a checkpoint that was blocked by a reader. */
const pauseMs = 1_000
/** An idle thread is ended, because it takes 16 MB. */
const usualIdleMs = 10_000
const closePatienceMs = 10_000

/** The thread closes the file after each checkpoint: the last connection to close deletes the log by its name, whichever file that is by then. */
const program = `
  import { DatabaseSync } from 'node:sqlite'
  import { parentPort, workerData } from 'node:worker_threads'
  const isBusy = new Int32Array(workerData.isBusy)
  parentPort.on('message', () => {
    try {
      const database = new DatabaseSync(new URL(workerData.url))
      try {
        database.exec('pragma synchronous = normal')
        database.exec('pragma wal_checkpoint(passive)')
      } finally {
        database.close()
      }
    } catch {
      // A full disk or a missing file: the next write reports it. The checkpoint is retried.
    }
    Atomics.store(isBusy, 0, 0)
    Atomics.notify(isBusy, 0)
    parentPort.postMessage('done')
  })`

export function createCheckpoints(
  file: string,
  writer: DatabaseSync,
  walFrames: WalFrames,
  idleMs = usualIdleMs,
): Checkpoints {
  // mode=rw: don't create the file if it is missing.
  const url = `${pathToFileURL(file).href}?mode=rw`
  const isBusy = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  let thread: Worker | undefined
  let idle: NodeJS.Timeout | undefined
  let isRunning = false
  /** The thread has moved everything except what was committed meanwhile. */
  let isAlmostDone = false
  let rounds = 0
  let inLogBefore = 0
  let notBefore = 0

  const endThread = async () => {
    const last = thread
    thread = undefined
    await last?.terminate()
  }
  const ended = () => {
    isRunning = false
    idle = setTimeout(() => void endThread(), idleMs).unref()
    const { inLog, waiting } = walFrames.count()
    isAlmostDone = writer.isOpen && inLog - waiting >= inLogBefore
    if (!isAlmostDone) notBefore = performance.now() + pauseMs
  }
  /** Without the thread, SQLite checkpoints inside commits. */
  const giveUp = () => {
    Atomics.store(isBusy, 0, 0)
    if (writer.isOpen) writer.exec(`pragma wal_autocheckpoint = ${framesAtOnce}`)
  }
  const startThread = () => {
    const started = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`), {
      // The thread gets neither the environment, which has secrets, nor this process's Node options.
      ...{ env: {}, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 } },
      workerData: { url, isBusy: isBusy.buffer },
    })
    started.unref()
    return started.on('message', ended).on('error', giveUp)
  }
  const moveFrames = () => {
    if (isRunning) return
    const { inLog, waiting } = walFrames.count()
    // The log restarts with the next commit, or has restarted.
    if (waiting === 0 || inLog < framesAtOnce) {
      isAlmostDone = false
      return
    }
    if (isAlmostDone && rounds >= mostRounds && waiting <= fewFrames(inLog)) {
      if (writer.isTransaction) return
      isAlmostDone = false
      writer.exec('pragma wal_checkpoint(passive)')
      return
    }
    if (!isAlmostDone && (waiting < framesAtOnce || performance.now() < notBefore)) return
    rounds = isAlmostDone ? rounds + 1 : 0
    clearTimeout(idle)
    isRunning = true
    isAlmostDone = false
    inLogBefore = inLog
    thread ??= startThread()
    Atomics.store(isBusy, 0, 1)
    thread.postMessage('checkpoint')
  }

  writer.exec('pragma wal_autocheckpoint = 0')
  return {
    committed: () => {
      try {
        moveFrames()
      } catch {
        // The commit is not affected: a full disk is reported by the next write.
        notBefore = performance.now() + pauseMs
        if (isRunning) giveUp()
      }
    },
    close: async () => {
      Atomics.wait(isBusy, 0, 1, closePatienceMs)
      clearTimeout(idle)
      await endThread()
    },
  }
}
