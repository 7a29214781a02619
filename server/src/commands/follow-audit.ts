/**
 * Prints the audit log as it grows, for a collector that keeps it where the service can't change it. Each line has a cursor,
 * with which the next run goes on: nothing is skipped, and on PostgreSQL some records may come twice.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { hashText } from '../audit/audit-hash.ts'
import { wholeTailStore } from '../audit/audit-tail-store.ts'
import type { WholeRecord } from '../audit/audit-tail-store.ts'
import { createRecordFollower } from '../audit/follow-record.ts'
import type { Database } from '../platform/database/database.ts'
import { CommandRefused } from './command-refused.ts'
import { withDatabase } from './with-database.ts'

const pollMs = 1000

interface Cursor {
  /** Everything up to this record has been printed. */
  settled: number
  /** The record of the line. Its hash tells whether the log is still the one that was followed. */
  sequence: number
  hash: string
}

export async function followAudit(env: NodeJS.ProcessEnv, options: string[]): Promise<number> {
  const [option, text, ...rest] = options
  const cursor = text === undefined ? undefined : readCursor(text)
  if (option !== undefined && (option !== '--after' || !cursor || rest.length > 0)) {
    process.stderr.write('audit follow accepts only --after and the cursor of a line that it printed.\n')
    return 2
  }
  return withDatabase(env, async ({ database, clock }) => {
    const follower = createRecordFollower({ database, auditTail: wholeTailStore, clock })
    if (cursor) await assertSameLog(database, cursor)
    follower.startAfter(cursor?.settled ?? 0)
    const end = untilToldToEnd()
    const hasEnded = () => end.signal.aborted
    while (!hasEnded()) {
      const records = await follower.nextPage()
      const settled = follower.settled()
      for (const record of records) {
        const isTaken = process.stdout.write(`${lineOf(record, settled)}\n`)
        // A reader that is slower than the log must not fill the memory.
        if (!isTaken) await once(process.stdout, 'drain', { signal: end.signal }).catch(() => undefined)
        if (hasEnded()) break
      }
      if (records.length === 0) await sleep(pollMs, undefined, { signal: end.signal }).catch(() => undefined)
    }
    return 0
  })
}

/** Also when the reader has gone. */
function untilToldToEnd(): AbortController {
  const end = new AbortController()
  const abort = () => {
    end.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, abort)
  process.stdout.once('error', abort)
  return end
}

function lineOf({ sequence, hash, mac, at, detail, ...members }: WholeRecord, settled: number): string {
  return JSON.stringify({
    cursor: `${Math.min(settled, sequence)}.${sequence}.${textOf(hash)}`,
    ...members,
    at: new Date(at).toISOString(),
    detail: JSON.parse(detail) as unknown,
    hash: textOf(hash),
    mac: textOf(mac),
  })
}

/** Records from before there were chains have none. */
function textOf(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : hashText(bytes)
}

function readCursor(text: string): Cursor | undefined {
  const [, settled, sequence, hash] = /^(\d{1,15})\.(\d{1,15})\.([\w-]{43}|null)$/.exec(text) ?? []
  return hash === undefined ? undefined : { settled: Number(settled), sequence: Number(sequence), hash }
}

/** After a restore the same numbers are given to other records, and those would be skipped. */
async function assertSameLog({ queries }: Database, { sequence, hash }: Cursor): Promise<void> {
  const [record] = await wholeTailStore.listThese(queries, [sequence])
  if (record && String(textOf(record.hash)) === hash) return
  throw new CommandRefused(
    record
      ? 'The record of this cursor is another one now: the database was restored or set back. Run audit verify, then follow from the beginning.'
      : 'The record of this cursor is gone: retention removed it, or the database was restored or set back. Run audit verify, then follow from the beginning.',
  )
}
