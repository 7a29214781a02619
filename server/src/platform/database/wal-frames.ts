/** The size of SQLite's write-ahead log, read from its index (the -shm file). */
import { closeSync, openSync, readSync, statSync } from 'node:fs'

export interface WalFrames {
  /** How many frames the log holds, and how many of them are not in the database file yet. */
  count: () => { inLog: number; waiting: number }
  close: () => void
}

/** Offsets of the number of frames (mxFrame) and of those checkpointed (nBackfill): https://sqlite.org/walformat.html, 2.1 and 2.2. */
const offsets = { inLog: 16 / 4, moved: 96 / 4 }

/** Closing a file drops all POSIX locks of the process on it: so ours stays open while SQLite may hold locks. */
const inUse = new Map<string, { opened: number; users: number }>()

/** Close it after SQLite has closed the file. */
export function openWalFrames(index: string): WalFrames {
  const { dev, ino } = statSync(index)
  const name = `${dev}.${ino}`
  const shared = inUse.get(name) ?? { opened: openSync(index, 'r'), users: 0 }
  shared.users++
  inUse.set(name, shared)
  const header = new Uint32Array(offsets.moved + 1)
  let isOpen = true
  return {
    count: () => {
      if (!isOpen) return { inLog: 0, waiting: 0 }
      readSync(shared.opened, header, 0, header.byteLength, 0)
      const inLog = header[offsets.inLog] ?? 0
      return { inLog, waiting: Math.max(0, inLog - (header[offsets.moved] ?? 0)) }
    },
    close: () => {
      isOpen = false
      if (--shared.users > 0) return
      inUse.delete(name)
      closeSync(shared.opened)
    },
  }
}
