/**
 * Makes commits durable. SQLite writes a commit to its write-ahead log and, with synchronous=NORMAL, leaves the fsync to
 * us. It runs off the event loop, and commits that arrive during one fsync share the next.
 */
import { closeSync, fdatasync, fdatasyncSync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import { WalNotSynced } from './failures.ts'
import { coalesce } from './coalesce-query.ts'

export type Sync = (fd: number) => Promise<void>

export const syncData: Sync = promisify(fdatasync)

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
