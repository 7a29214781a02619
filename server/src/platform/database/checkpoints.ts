/**
 * Moves what SQLite's write-ahead log holds into the database file (a checkpoint), on a thread of its own. SQLite would do
 * it within a commit, on the event loop: 20 ms for each 1,000 pages, and after a long read, such as a backup, the log has
 * any number of them. Only the few that are committed meanwhile are moved here, so that the log begins anew.
 */
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { DatabaseSync } from 'node:sqlite'
import type { WalIndexHead } from './wal-index-head.ts'

export interface Checkpoints {
  /** To be called after a commit. */
  committed: () => void
  /** The thread has the file open no longer when this returns. The promise resolves once it has ended. */
  close: () => Promise<void>
}

/** Seldom, and then more at once: pages that many calls write are moved once for all of them. */
const framesAtOnce = 4_000
/** Where the thread has gone on so often, and always found what had come meanwhile, as few as this are moved here. */
const mostRounds = 20
const fewFrames = (inLog: number) => Math.max(250, inLog / 50)
/** After a checkpoint that a reader kept from moving anything. */
const pauseMs = 1_000
const closePatienceMs = 10_000

/** The file is closed after each checkpoint: whoever closes it last deletes the log, by its name, of whatever file is there. */
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
      // A full disk, or a file that is gone: whoever writes is told. It is tried again.
    }
    Atomics.store(isBusy, 0, 0)
    Atomics.notify(isBusy, 0)
    parentPort.postMessage('done')
  })`

export function createCheckpoints(file: string, writer: DatabaseSync, walIndexHead: WalIndexHead): Checkpoints {
  // A file that is gone is not made anew.
  const url = `${pathToFileURL(file).href}?mode=rw`
  const isBusy = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  let thread: Worker | undefined
  let isRunning = false
  /** The thread has moved what there was; what came since is left. */
  let isAlmostDone = false
  let rounds = 0
  let inLogBefore = 0
  let notBefore = 0

  const ended = () => {
    isRunning = false
    const { inLog, waiting } = walIndexHead.frames()
    isAlmostDone = writer.isOpen && inLog - waiting >= inLogBefore
    if (!isAlmostDone) notBefore = performance.now() + pauseMs
  }
  /** Without a thread SQLite does it within commits. */
  const giveUp = () => {
    Atomics.store(isBusy, 0, 0)
    if (writer.isOpen) writer.exec(`pragma wal_autocheckpoint = ${framesAtOnce}`)
  }
  const startThread = () => {
    const started = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`), {
      // Neither secrets of the environment nor what this process was told to load are for it.
      ...{ env: {}, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 } },
      workerData: { url, isBusy: isBusy.buffer },
    })
    started.unref()
    return started.on('message', ended).on('error', giveUp)
  }
  const moveFrames = () => {
    if (isRunning) return
    const { inLog, waiting } = walIndexHead.frames()
    // The log begins anew with the next commit, or has begun.
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
        // The commit has happened all the same: a full disk is told to whoever writes next.
        notBefore = performance.now() + pauseMs
        if (isRunning) giveUp()
      }
    },
    close: async () => {
      Atomics.wait(isBusy, 0, 1, closePatienceMs)
      await thread?.terminate()
    },
  }
}
