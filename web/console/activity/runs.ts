/** Records that follow one another and read the same, as one line. */
import type { AuditRecord } from '@sallyport/sdk'
import { plainText } from '../../ui/words.ts'
import { describeRecord } from './describe-record.ts'
import type { Names } from './describe-record.ts'

/** One or more records with the same sentence, newest first. */
export interface Run {
  newest: AuditRecord
  records: AuditRecord[]
}

export interface Day {
  /** Local midnight. */
  start: number
  runs: Run[]
}

/** By local day, newest first, as given. */
export function daysOf(records: readonly AuditRecord[], names: Names): Day[] {
  const days: Day[] = []
  let last: { day: Day; run: Run; key: string } | undefined
  for (const record of records) {
    const start = new Date(record.at).setHours(0, 0, 0, 0)
    const key = keyOf(record, names)
    if (last?.day.start === start && last.key === key) {
      last.run.records.push(record)
      continue
    }
    const run = { newest: record, records: [record] }
    const day = last?.day.start === start ? last.day : { start, runs: [] }
    if (day !== last?.day) days.push(day)
    day.runs.push(run)
    last = { day, run, key }
  }
  return days
}

/** Agents can have the same name, and an account none. */
function keyOf(record: AuditRecord, names: Names): string {
  const { agent_id: agent, connection_id: account, grant_id: grant } = record
  return JSON.stringify([plainText(describeRecord(record, names)), agent, account, grant])
}
