/** Records as CSV (RFC 4180). Values that a spreadsheet would read as a formula get an apostrophe. */
import type { AuditRecord } from '@sallyport/protocol/audit'

const plain = [
  'audit_id',
  'event',
  'at',
  'outcome',
  'concluded_at',
  'agent_id',
  'user_id',
  'grant_id',
  'connection_id',
  'provider',
  'request_id',
] as const satisfies (keyof AuditRecord)[]
const ofCalls = ['method', 'host', 'path', 'code']
const ofResults = ['status', 'bytes', 'ms', 'redactions']

/** Some spreadsheets also read full-width signs. */
const formula = /^[\s\p{Cc}]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/u

export const csvHeader = csvLine([...plain, ...ofCalls, ...ofResults, 'detail', 'result', 'hops', 'door'])

export function csvRow(record: AuditRecord): string {
  return csvLine([
    ...plain.map((name) => record[name]),
    ...ofCalls.map((name) => record.detail[name]),
    ...ofResults.map((name) => record.result?.[name]),
    record.detail,
    record.result,
    record.hops.length === 0 ? null : record.hops,
    record.door,
  ])
}

function csvLine(values: readonly unknown[]): string {
  return `${values.map(csvField).join(',')}\r\n`
}

function csvField(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const safe = typeof value !== 'number' && formula.test(text) ? `'${text}` : text
  return /[",\r\n;]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
