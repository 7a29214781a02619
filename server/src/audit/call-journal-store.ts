/**
 * Records of calls go into a journal first: to have a page of a file on disk takes a fraction of what it takes to change
 * the tables, and nobody waits for those. The next commit that puts something on record takes them along, in the order in
 * which all of it happened. What a process that ended left there is put into the tables by the next.
 */
import { randomBytes } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { noteEachOf } from '../platform/database/database.ts'
import type { CommitResult, Database, Note, Queries } from '../platform/database/database.ts'
import { readJournalFile } from '../platform/database/journal-file.ts'
import type { JournalEntry, JournalFile } from '../platform/database/journal-file.ts'
import { notesOf, placeless } from './audit-chain-store.ts'
import type { LinkedRow } from './audit-chain-store.ts'
import { recordColumns, recordValues } from './audit-hash.ts'
import type { RecordRow } from './audit-hash.ts'

declare module '../platform/database/tables.ts' {
  interface Tables {
    /** One row, on SQLite only: of this journal all up to this number is in the tables. */
    audit_journals: { journal: string; number: number }
  }
}

export interface CallJournal {
  /** Returns how many pages held something that is none of ours. */
  open: (key: KeyObject) => number
  close: () => void
  isKept: () => boolean
  /** On disk when it returns. False where that can't be at the moment: then nothing has happened. */
  write: (rows: readonly LinkedRow[]) => boolean
  /** What is to be put into the tables by this transaction. Until it has ended nothing is written here. */
  handOver: (tx: Queries) => Promise<LinkedRow[]>
  /** The same, for a transaction without a pause, where nothing is uncertain: it fails where something was. */
  handOverAtOnce: () => LinkedRow[]
  insertAtOnce: (rows: readonly LinkedRow[]) => Promise<void> | undefined
  handedOver: (result: CommitResult) => void
  /** How many records are in no table yet. */
  waiting: () => number
}

interface Noted {
  journal: string
  number: number
  rows: LinkedRow[]
}

export function createCallJournal(
  database: Database,
  notesOfCalls: (rows: readonly RecordRow[]) => Note[] = () => [],
): CallJournal {
  let file: JournalFile | undefined
  /** None is written before what was left is in the tables, nor while anything is being put there. */
  let isOpen = false
  let isHandingOver = false
  let noted: Noted[] = []
  let waiting = 0
  let number = 0
  const journal = randomBytes(12).toString('base64url')
  const clear = () => {
    try {
      file?.clear()
      isOpen = true
    } catch {
      // Then it is not written to any more.
    }
  }
  /** How far it is in the tables then. */
  const reached = () => {
    const newest = noted.at(-1)
    return [newest?.journal, newest?.number]
  }
  const begun = (): Note => ({ text: 'insert into audit_journals (journal, number) values (?, ?)', rows: [reached()] })
  const moved = (): Note => ({
    text: 'update audit_journals set journal = ?, number = ?',
    rows: [reached()],
    mustChange: true,
  })

  return {
    open: (key) => {
      file = database.openJournal(key)
      if (!file) return 0
      const { entries, strangePages } = file.read()
      if (strangePages > 0) file.keepAside()
      noted = entries.map(toNoted)
      waiting = noted.reduce((sum, { rows }) => sum + rows.length, 0)
      if (waiting === 0) clear()
      return strangePages
    },

    close: () => {
      file?.close()
      file = undefined
    },

    isKept: () => file !== undefined,

    write: (rows) => {
      if (!file || !isOpen || isHandingOver) return false
      number++
      try {
        if (!file.append({ number, text: JSON.stringify([journal, rows.map(recordValues)]) })) return false
      } catch {
        // The tables may be on the same disk; if so, whoever takes the way to them is told.
        isOpen = false
        return false
      }
      noted.push({ journal, number, rows: [...rows] })
      waiting += rows.length
      return true
    },

    handOver: async (tx) => {
      isHandingOver = true
      if (noted.length === 0) return []
      const found = await tx.selectFrom('audit_journals').selectAll().executeTakeFirst()
      const rows = noted.filter((entry) => !isIn(entry, found)).flatMap((entry) => entry.rows)
      const noteEach = noteEachOf(tx)
      for (const note of [found ? moved() : begun(), ...notesOfCalls(rows)]) await noteEach?.(note)
      return rows
    },

    handOverAtOnce: () => {
      isHandingOver = true
      return noted.flatMap((entry) => entry.rows)
    },

    insertAtOnce: (rows) => database.noteAtOnce([moved(), ...notesOfCalls(rows), ...notesOf(rows)]),

    handedOver: (result) => {
      isHandingOver = false
      if (!file || noted.length === 0) return
      isOpen = false
      // Where nobody knows whether it happened, the table will tell the next.
      if (result !== 'committed') return
      noted = []
      waiting = 0
      clear()
    },

    waiting: () => waiting,
  }
}

/** How many records a journal holds that are in no table, as far as one can tell from outside. */
export async function countWaiting(queries: Queries, file: string, key: KeyObject): Promise<number> {
  const found = await queries.selectFrom('audit_journals').selectAll().executeTakeFirst()
  const entries = readJournalFile(file, key).entries.map(toNoted)
  return entries.reduce((sum, entry) => sum + (isIn(entry, found) ? 0 : entry.rows.length), 0)
}

function isIn({ journal, number }: Noted, found: { journal: string; number: number } | undefined): boolean {
  return found !== undefined && found.journal === journal && number <= found.number
}

function toNoted({ number, text }: JournalEntry): Noted {
  const [journal, all] = JSON.parse(text) as [string, unknown[][]]
  const rows = all.map((values) => {
    const named = Object.fromEntries(recordColumns.map((column, index) => [column, values[index]]))
    return placeless(named as unknown as RecordRow)
  })
  return { journal, number, rows }
}
