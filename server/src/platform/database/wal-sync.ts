/**
 * Makes commits durable. SQLite writes a commit to its write-ahead log and, with synchronous=NORMAL, leaves the fsync to
 * us. Commits that arrive during one fsync share the next. A slow disk does not block the event loop.
 */
import { closeSync, fdatasync, fdatasyncSync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import { WalNotSynced } from './failures.ts'
import { coalesce } from './coalesce-query.ts'

export type Sync = (fd: number) => Promise<void>

export const syncData: Sync = promisify(fdatasync)

/** On average. Waking another thread, and being woken by it, takes about as long. */
const fastMs = 0.5
/** So that a single slow sync does not raise the average above that. */
const mostMs = 2
/** How often a slow disk is timed again. */
const timedEvery = 1000

/**
 * A sync for commits: on this thread while the disk is fast, which saves two context switches per commit, otherwise on
 * the thread pool, where it does not block the event loop.
 */
export function createSync(
  syncAtOnce: (fd: number) => void = fdatasyncSync,
  syncInPool: Sync = syncData,
  now = () => performance.now(),
): Sync {
  let averageMs = 0
  let inPool = 0
  return async (fd) => {
    if (averageMs > fastMs && ++inPool % timedEvery !== 0) {
      await syncInPool(fd)
      return
    }
    const began = now()
    syncAtOnce(fd)
    averageMs += (Math.min(now() - began, mostMs) - averageMs) / 8
  }
}

export type WalSync = ReturnType<typeof openWalSync>

export function openWalSync(log: string, sync: Sync, syncAtOnce: (fd: number) => void = fdatasyncSync) {
  const fd = openSync(log, 'r')
  let failure: WalNotSynced | undefined
  let isClosed = false
  let running: Promise<unknown> = Promise.resolve()
  const assertSound = () => {
    if (failure) throw failure
  }
  const fail = (error: unknown) => {
    throw (failure ??= new WalNotSynced(error))
  }
  return {
    /** Resolves once everything committed so far is on disk. */
    durable: coalesce(async () => {
      assertSound()
      if (isClosed) return
      const syncing = sync(fd).catch(fail)
      running = syncing.catch(() => undefined)
      await syncing
    }),
    /** Throws after an fsync has failed: the kernel may drop pages that it could not write and report success the next time. */
    assertSound,
    /** Syncs first: everything committed so far is on disk. */
    close: () => {
      isClosed = true
      syncAtOnce(fd)
      void running.then(() => {
        closeSync(fd)
      })
    },
  }
}
