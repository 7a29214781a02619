/**
 * A file that takes texts and has them on disk when it returns: whole pages in one write, into a file that never grows and
 * past the system's own cache, so that nothing is brought to disk but they. Each text has a number, and a code that only
 * the service can make: what was not written to its end, or by somebody else, is not there. One process at a time has it.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import {
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isBusy } from './failures.ts'

/** Node's types leave it to those of browsers. */
declare const WebAssembly: {
  Memory: new (size: { initial: number }) => { buffer: ArrayBuffer }
}

export interface JournalEntry {
  number: number
  text: string
}

export interface JournalFile {
  read: () => JournalRead
  /** Puts a copy beside it, for somebody to look at. */
  keepAside: () => void
  /** On disk when it returns. False where there is no room. */
  append: (entry: JournalEntry) => boolean
  /** All of it has its place elsewhere by now. To be called before the first entry, too. */
  clear: () => void
  close: () => void
}

export interface JournalRead {
  entries: JournalEntry[]
  /** Pages that hold something else: written by others, or not to its end. */
  strangePages: number
}

const pageBytes = 4096
const fileBytes = 256 * pageBytes
/** The code, the number and the length of the text, which follows. */
const numberAt = 32
const lengthAt = numberAt + 6
const textAt = lengthAt + 4

/** Filled and written without a pause, so one is enough. */
const buffer = pageAligned()
const zeros = pageAligned()

/** Undefined where another process has it, or the system can't write like this. */
export function openJournalFile(file: string, key: KeyObject): JournalFile | undefined {
  const unlock = lock(`${file}-lock`)
  if (!unlock) return undefined
  let opened: number | undefined
  try {
    opened = openToWrite(file)
  } finally {
    if (opened === undefined) unlock()
  }
  if (opened === undefined) return undefined
  const bytesOfKey = key.export()
  let used = fileBytes
  return {
    read: () => readJournalFile(file, key),

    keepAside: () => {
      copyFileSync(file, `${file}-unread`)
    },

    append: (entry) => {
      if (opened === undefined) return false
      const bytes = inPages(writeEntry(entry, fileBytes - used, bytesOfKey))
      if (bytes === 0) return false
      // Whether it was written is not known where that fails: its place is not used again before it is cleared.
      used += bytes
      writeWhole(opened, buffer, bytes, used - bytes)
      return true
    },

    clear: () => {
      if (opened === undefined) return
      // What is written to a file that was removed or replaced is lost with the process.
      if (!isAt(file, opened)) {
        closeSync(opened)
        opened = openToWrite(file)
        used = fileBytes
        if (opened === undefined) return
      }
      writeWhole(opened, zeros, used, 0)
      used = 0
    },

    close: () => {
      if (opened === undefined) return
      closeSync(opened)
      opened = undefined
      unlock()
    },
  }
}

function isAt(file: string, opened: number): boolean {
  const there = statSync(file, { throwIfNoEntry: false })
  const ours = fstatSync(opened)
  return there?.ino === ours.ino && there.dev === ours.dev
}

/** Also while somebody else has it. */
export function readJournalFile(file: string, key: KeyObject): JournalRead {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (!stats) return { entries: [], strangePages: 0 }
  if (!stats.isFile()) throw new Error(`${file} is no file`)
  return readEntries(readFileSync(file).subarray(0, fileBytes), key.export())
}

/** Memory of such modules begins with a page, as the system wants it for what it writes past its cache. */
function pageAligned(): Buffer {
  return Buffer.from(new WebAssembly.Memory({ initial: fileBytes / 65_536 }).buffer)
}

/** The system lets go of it when the process ends, however that ends. Node itself has no such lock; SQLite does. */
function lock(file: string): (() => void) | undefined {
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    database.exec('pragma journal_mode = memory; begin exclusive')
    return () => {
      database.close()
    }
  } catch (error) {
    database.close()
    if (isBusy(error)) return undefined
    throw error
  }
}

/** Past its cache where it lets us; on disk in any case, or not at all. */
function openToWrite(file: string): number | undefined {
  const { O_DSYNC, O_DIRECT } = constants as Partial<typeof constants>
  if (O_DSYNC === undefined) return undefined
  // Of what is no file, such as a pipe, one could wait for the other end for good.
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK | O_DSYNC
  const usual = openSync(file, flags, 0o600)
  try {
    ftruncateSync(usual, fileBytes)
    syncFolderOf(file)
  } catch (error) {
    closeSync(usual)
    throw error
  }
  const direct = O_DIRECT === undefined ? undefined : tryDirect(() => openSync(file, flags | O_DIRECT), usual)
  if (direct !== undefined) closeSync(usual)
  return direct ?? usual
}

/** So that the file is there after a power cut, with its first entry. */
function syncFolderOf(file: string): void {
  const folder = openSync(dirname(file), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** Some file systems say no at once, and some when they are written to: with what is there already. */
function tryDirect(open: () => number, usual: number): number | undefined {
  let opened: number | undefined
  try {
    opened = open()
    readSync(usual, buffer, 0, pageBytes, 0)
    writeWhole(opened, buffer, pageBytes, 0)
    return opened
  } catch {
    if (opened !== undefined) closeSync(opened)
    return undefined
  }
}

function writeWhole(opened: number, bytes: Buffer, length: number, at: number): void {
  if (writeSync(opened, bytes, 0, length, at) !== length) throw new Error('the journal was not written to its end')
}

function inPages(bytes: number): number {
  return Math.ceil(bytes / pageBytes) * pageBytes
}

/** Returns how long it is; 0 where it does not fit. What is left of its last page is zero. */
function writeEntry({ number, text }: JournalEntry, room: number, key: Buffer): number {
  const end = textAt + Buffer.byteLength(text)
  if (end > room) return 0
  buffer.writeUIntBE(number, numberAt, 6)
  buffer.writeUInt32BE(end - textAt, lengthAt)
  buffer.write(text, textAt)
  sign(buffer.subarray(0, end), key)
  buffer.fill(0, end, inPages(end))
  return end
}

/**
 * The code is the hash of the key with all that follows. Its length is told before the text, so that nobody can go on
 * from one code to that of a longer text.
 */
function sign(entry: Buffer, key: Buffer): void {
  key.copy(entry)
  // As a text: to make a buffer for it takes as long again.
  entry.write(hash('sha256', entry, 'binary'), 'binary')
}

function readEntries(bytes: Buffer, key: Buffer): JournalRead {
  const entries: JournalEntry[] = []
  let strangePages = 0
  for (let at = 0; at + pageBytes <= bytes.length;) {
    const entry = readEntry(bytes.subarray(at), key)
    if (entry) entries.push(entry)
    else if (!bytes.subarray(at, at + pageBytes).equals(zeros.subarray(0, pageBytes))) strangePages++
    at += entry ? inPages(textAt + Buffer.byteLength(entry.text)) : pageBytes
  }
  return { entries: entries.sort((one, other) => one.number - other.number), strangePages }
}

function readEntry(bytes: Buffer, key: Buffer): JournalEntry | undefined {
  const length = bytes.readUInt32BE(lengthAt)
  const end = textAt + length
  if (length === 0 || end > bytes.length) return undefined
  const signed = Buffer.from(bytes.subarray(0, end))
  sign(signed, key)
  if (!timingSafeEqual(signed.subarray(0, numberAt), bytes.subarray(0, numberAt))) return undefined
  return { number: bytes.readUIntBE(numberAt, 6), text: bytes.toString('utf8', textAt, end) }
}
