/** Calls that differ only in time, or in an id within their path, as one line with their number. */
import type { AuditRecord } from '@sallyport/sdk'

export interface Collapsed {
  /** The newest of them. Where the paths differ, an ellipsis. */
  record: AuditRecord
  count: number
}

/** Newest first, as given. */
export function collapseRecords(records: readonly AuditRecord[]): Collapsed[] {
  const lines = new Map<string, Collapsed>()
  for (const record of records) {
    const { event, outcome, result, detail, connection_id: account } = record
    const path = patternOf(detail['path'])
    const key = JSON.stringify([
      ...[event, outcome, result?.['status'], result?.['code'], account],
      ...[detail['method'], detail['host'], path, detail['code']],
    ])
    const line = lines.get(key)
    if (!line) lines.set(key, { record, count: countOf(record) })
    else {
      line.count += countOf(record)
      if (line.record.detail['path'] !== detail['path']) {
        line.record = { ...line.record, detail: { ...line.record.detail, path } }
      }
    }
  }
  return [...lines.values()]
}

/** Many refusals in a short time are one record with their number. */
function countOf({ detail: { count } }: AuditRecord): number {
  return typeof count === 'number' ? count : 1
}

/** Numbers, and longer segments with a digit, are ids. */
function patternOf(path: unknown): unknown {
  if (typeof path !== 'string') return path
  return path
    .split('/')
    .map((segment) => (/^\d+$|^(?=.*\d)[\w%.~-]{8,}$/.test(segment) ? '…' : segment))
    .join('/')
}
