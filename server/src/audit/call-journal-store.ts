/**
 * Records of calls go into a journal first: to have a page of a file on disk takes a fraction of what it takes to change
 * the tables, and nobody waits for those. The next commit that puts something on record takes them along. What a process
 * that ended left there is put into the tables by the next.
 */
import type { KeyObject } from 'node:crypto'
import { noteEachOf } from '../platform/database/database.ts'
import type { CommitResult, Database, Note, Queries } from '../platform/database/database.ts'
import { readJournalFile } from '../platform/database/journal-file.ts'
import type { JournalEntry, JournalFile } from '../platform/database/journal-file.ts'
import { notesOf, placeless } from './audit-chain-store.ts'
import type { LinkedRow } from './audit-chain-store.ts'
import { recordColumns, recordValues } from './audit-hash.ts'
import type { RecordRow } from './audit-hash.ts'

export interface CallJournal {
  /** Returns how many pages held something that is none of ours. */
  open: (key: KeyObject) => number
  close: () => void
  isKept: () => boolean
  /** On disk when it returns. False where that can't be at the moment: then nothing has happened. */
  write: (rows: readonly LinkedRow[]) => boolean
  /** What is to be put into the tables by this transaction. Until it has ended nothing is written here. */
  handOver: (tx: Queries) => Promise<LinkedRow[]>
  /** The same, for a transaction without a pause. Undefined where it has to be looked for in the tables first. */
  handOverAtOnce: () => LinkedRow[] | undefined
  insertAtOnce: (rows: readonly LinkedRow[]) => Promise<void> | undefined
  handedOver: (result: CommitResult) => void
  /** How many records are in no table yet. */
  waiting: () => number
  /** After a failure to write, once nothing waits. */
  reopen: () => void
}

export function createCallJournal(
  database: Database,
  notesOfCalls: (rows: readonly RecordRow[]) => Note[] = () => [],
): CallJournal {
  let file: JournalFile | undefined
  /** None is written before what was left is in the tables, nor while anything is being put there. */
  let isOpen = false
  let isHandingOver = false
  let waiting: LinkedRow[] = []
  /** Some of it may be in the tables: a process ended, or a commit, and nobody knows whether it had happened. */
  let isUncertain = false
  let number = 0
  const clear = () => {
    try {
      file?.clear()
      isOpen = true
    } catch {
      isOpen = false
    }
  }

  return {
    open: (key) => {
      const opened = database.openJournal(key)
      if (!opened) return 0
      try {
        const { entries, strangePages } = opened.read()
        if (strangePages > 0) opened.keepAside()
        waiting = entries.flatMap(rowsOf)
        isUncertain = true
        file = opened
        if (waiting.length === 0) clear()
        return strangePages
      } catch (error) {
        opened.close()
        throw error
      }
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
        if (!file.append({ number, text: JSON.stringify(rows.map(recordValues)) })) return false
      } catch {
        // The tables may be on the same disk; if so, whoever takes the way to them is told.
        isOpen = false
        return false
      }
      waiting.push(...rows)
      return true
    },

    handOver: async (tx) => {
      isHandingOver = true
      const rows = isUncertain ? await withoutThoseIn(tx, waiting) : waiting
      const noteEach = noteEachOf(tx)
      if (rows.length > 0) for (const note of notesOfCalls(rows)) await noteEach?.(note)
      return rows
    },

    handOverAtOnce: () => {
      if (isUncertain) return undefined
      isHandingOver = true
      return waiting
    },

    insertAtOnce: (rows) => database.noteAtOnce([...notesOfCalls(rows), ...notesOf(rows)]),

    handedOver: (result) => {
      isHandingOver = false
      isUncertain = result === 'unknown' || (isUncertain && result === 'undone')
      if (waiting.length === 0) return
      isOpen = false
      if (result !== 'committed') return
      waiting = []
      clear()
    },

    waiting: () => waiting.length,

    reopen: () => {
      if (file && !isOpen && !isHandingOver && waiting.length === 0) clear()
    },
  }
}

/** How many records a journal holds that are in no table, as far as one can tell from outside. */
export async function countWaiting(queries: Queries, file: string, key: KeyObject): Promise<number> {
  return (await withoutThoseIn(queries, readJournalFile(file, key).entries.flatMap(rowsOf))).length
}

function rowsOf({ text }: JournalEntry): LinkedRow[] {
  return (JSON.parse(text) as unknown[][]).map((values) => {
    const named = recordColumns.map((column, index) => [column, values[index]])
    return placeless(Object.fromEntries(named) as RecordRow)
  })
}

/** Each as often as it is not there: a call may be redirected to the same place twice in a moment. */
async function withoutThoseIn(queries: Queries, rows: readonly LinkedRow[]): Promise<LinkedRow[]> {
  const found = new Map<string, number>()
  const asked = new Set<string>()
  const missing: LinkedRow[] = []
  for (const row of rows) {
    if (!asked.has(row.audit_id)) {
      asked.add(row.audit_id)
      const query = queries.selectFrom('audit_records').select(recordColumns)
      for (const one of await query.where('audit_id', '=', row.audit_id).execute()) {
        const text = JSON.stringify(recordValues(one))
        found.set(text, (found.get(text) ?? 0) + 1)
      }
    }
    const text = JSON.stringify(recordValues(row))
    const times = found.get(text) ?? 0
    if (times === 0) missing.push(row)
    else found.set(text, times - 1)
  }
  return missing
}
