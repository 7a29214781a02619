/**
 * Makes commits durable. SQLite writes a commit to its write-ahead log and leaves the fsync to us (synchronous=NORMAL):
 * the event loop goes on meanwhile, and commits that come while one fsync runs share the next.
 */
import { closeSync, fdatasync, fdatasyncSync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import { WalNotSynced } from './failures.ts'
import { coalesce } from './coalesce-query.ts'

export type Sync = (fd: number) => Promise<void>

export const syncData: Sync = promisify(fdatasync)

export interface WalSync {
  /** Resolves once everything that was committed before is on disk. */
  durable: () => Promise<void>
  /** Throws once an fsync has failed: the kernel may drop what it could not write, and report success the next time. */
  assertSound: () => void
  /** What was committed until then is on disk. */
  close: () => void
}

export function openWalSync(log: string, sync: Sync, syncAtOnce: (fd: number) => void = fdatasyncSync): WalSync {
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
    durable: coalesce(async () => {
      assertSound()
      if (isClosed) return
      const syncing = sync(fd).catch(fail)
      running = syncing.catch(() => undefined)
      await syncing
    }),
    assertSound,
    close: () => {
      isClosed = true
      syncAtOnce(fd)
      void running.then(() => {
        closeSync(fd)
      })
    },
  }
}
