/**
 * Copies of a SQLite database as single files, for backups. A copy is complete or it isn't there: it is written to a draft
 * beside the target, checked, and gets its name last. Only its owner can read it.
 */
import { randomBytes } from 'node:crypto'
import {
  chownSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  statfsSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, backup } from 'node:sqlite'
import { isBusy } from './failures.ts'

/** The file is not a complete SQLite database. */
export class DatabaseDamaged extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'DatabaseDamaged'
  }
}

const sqliteLogs = ['', '-wal', '-shm', '-journal']
const chunkBytes = 1024 * 1024
/** All pages in one step: a copy in several steps starts over whenever another process writes in between. */
const allPages = 2 ** 31 - 1

/** Creates an empty draft that only its owner can read, and removes whatever is left of it in the end. */
export async function withDraft<T>(target: string, work: (draft: string) => Promise<T> | T): Promise<T> {
  const draft = `${target}.${randomBytes(6).toString('hex')}.partial`
  closeSync(openSync(draft, 'wx', 0o600))
  try {
    return await work(draft)
  } finally {
    for (const ending of sqliteLogs) rmSync(`${draft}${ending}`, { force: true })
  }
}

/** Everything that was committed before, while others read and write. */
export async function copySnapshot(file: string, draft: string): Promise<void> {
  const source = new DatabaseSync(file, { readOnly: true, timeout: 5_000 })
  try {
    await backup(source, draft, { rate: allPages })
  } finally {
    source.close()
  }
}

/** A regular file, whatever its name leads to: reading a pipe might never end. */
export function openSource(file: string): number {
  const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  if (fstatSync(handle).isFile()) return handle
  closeSync(handle)
  throw new DatabaseDamaged('it is not a regular file')
}

/** Byte by byte, and closes the source. */
export function copyFile(source: number, draft: string): void {
  const to = openSync(draft, 'r+')
  try {
    const chunk = Buffer.allocUnsafe(chunkBytes)
    for (let length = readSync(source, chunk); length > 0; length = readSync(source, chunk)) {
      for (let written = 0; written < length;) written += writeSync(to, chunk, written, length - written)
    }
  } finally {
    closeSync(to)
    closeSync(source)
  }
}

/** Reads the draft once its pages and indexes are checked, and leaves it as one file without a log. */
export function inspect<T>(draft: string, read: (database: DatabaseSync) => T): T {
  if (statSync(draft).size === 0) throw new DatabaseDamaged('it is empty')
  const database = new DatabaseSync(draft)
  try {
    // SQLite would read what is missing of the last page as zeros.
    if (statSync(draft).size !== countIn(database, 'page_count') * countIn(database, 'page_size')) {
      throw new DatabaseDamaged('its end is missing')
    }
    database.exec('pragma journal_mode = delete')
    const [found] = database.prepare('pragma integrity_check(1)').all()
    const verdict = String(found?.['integrity_check'])
    if (verdict !== 'ok') throw new DatabaseDamaged(verdict)
    return read(database)
  } catch (error) {
    if (isDamage(error)) throw new DatabaseDamaged((error as Error).message)
    throw error
  } finally {
    database.close()
  }
}

function countIn(database: DatabaseSync, pragma: 'page_count' | 'page_size'): number {
  return Number(database.prepare(`pragma ${pragma}`).get()?.[pragma])
}

/** CORRUPT and NOTADB. */
function isDamage(error: unknown): boolean {
  return [11, 26].includes(((error as { errcode?: number }).errcode ?? 0) & 0xff)
}

/** Gives the draft its name, unless that is taken: also by a symbolic link, which is not followed. */
export function publish(draft: string, target: string): void {
  syncToDisk(draft)
  linkOrRename(draft, target)
  syncToDisk(dirname(target))
}

/** Some file systems have no hard links. */
function linkOrRename(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'ENOSYS'].includes((error as NodeJS.ErrnoException).code ?? '') || isTaken(to))
      throw error
    renameSync(from, to)
  }
}

export function isTaken(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

/** What a copy of the database takes, and how much room is in a folder. */
export function bytesOf(file: string): number {
  return ['', '-wal'].reduce(
    (sum, ending) => sum + (statSync(`${file}${ending}`, { throwIfNoEntry: false })?.size ?? 0),
    0,
  )
}

export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/**
 * Opens the file so that no other process can use it until it is closed. `in_use`: another process has it open.
 * `unreadable`: it is damaged, so its contents are of no use, and whether others have it open is not known.
 */
export function holdAlone(file: string): DatabaseSync | 'in_use' | 'unreadable' {
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    database.exec('pragma locking_mode = exclusive')
    // Needs the only connection. The log is part of the file from then on.
    database.exec('pragma journal_mode = delete')
    database.exec('begin exclusive; select count(*) from sqlite_schema; rollback')
    // Nothing is written from here on, and nothing may be left of what a crash or this connection had beside the file.
    database.exec('pragma journal_mode = memory')
    for (const ending of ['-shm', '-journal']) rmSync(`${file}${ending}`, { force: true })
    return database
  } catch (error) {
    database.close()
    return isBusy(error) || isLockedByOthers(file) ? 'in_use' : 'unreadable'
  }
}

/** SQLite gives up on a file without a header before it looks for locks. Linux lists them by inode. */
function isLockedByOthers(file: string): boolean {
  const list = '/proc/locks'
  return existsSync(list) && readFileSync(list, 'utf8').includes(`:${statSync(file).ino} `)
}

/** Puts the draft in the file's place in one step. What was there gets another name, with its log. */
export function replaceFile(draft: string, file: string, aside: string): void {
  syncToDisk(draft)
  const former = statSync(file, { throwIfNoEntry: false })
  if (former) linkOrRename(file, aside)
  // A log that is still there belongs to the former file, and must not be replayed into the new one.
  for (const ending of sqliteLogs.slice(1)) {
    if (existsSync(`${file}${ending}`)) renameSync(`${file}${ending}`, `${aside}${ending}`)
  }
  const { uid, gid } = former ?? statSync(dirname(file))
  if (process.geteuid?.() === 0) chownSync(draft, uid, gid)
  renameSync(draft, file)
  syncToDisk(dirname(file))
}

function syncToDisk(path: string): void {
  const handle = openSync(path, 'r')
  fsyncSync(handle)
  closeSync(handle)
}
