/** Follows the audit log by polling it, so that only what is recorded is shown. */
import { setTimeout as sleep } from 'node:timers/promises'
import { SallyportError } from '@sallyport/sdk'
import type { Audit, AuditRecord, ListAuditQuery } from '@sallyport/sdk'
import { take } from './listed.ts'

const intervalMs = 1000
/** Each poll reads this much again, by the service's clock: records of several processes do not appear in order. */
const overlapMs = 15_000
/** A call is shown with its outcome, or without it after this many polls. */
const patience = 10
const mostAtOnce = 1000

export async function* followRecords(
  reader: Audit,
  query: ListAuditQuery,
  first: number,
  signal: AbortSignal,
): AsyncGenerator<AuditRecord, void, undefined> {
  const seen = new Map<string, number>()
  const awaited = new Map<string, number>()
  let newest = 0
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const since = newest === 0 ? query.since : new Date(newest - overlapMs).toISOString()
    const found = await look(reader, { ...query, ...(since !== undefined && { since }) }, isFirst, signal)
    for (const [index, record] of found.reverse().entries()) {
      const { audit_id: id } = record
      const at = Date.parse(record.at)
      newest = Math.max(newest, at)
      if (seen.has(id)) continue
      const looks = (awaited.get(id) ?? 0) + 1
      awaited.set(id, looks)
      if (record.outcome === 'unknown' && looks < patience) continue
      awaited.delete(id)
      seen.set(id, at)
      if (!isFirst || index >= found.length - first) yield record
    }
    for (const [id, at] of seen) if (at < newest - 2 * overlapMs) seen.delete(id)
    await sleep(intervalMs, undefined, { signal }).catch(() => undefined)
  }
}

/** Newest first. After the first success, retries while the service is unavailable. */
async function look(
  reader: Audit,
  query: ListAuditQuery,
  isFirst: boolean,
  signal: AbortSignal,
): Promise<AuditRecord[]> {
  try {
    return await take(reader.list({ ...query, limit: 200 }, { signal }), isFirst ? 200 : mostAtOnce)
  } catch (error) {
    if (signal.aborted) return []
    if (!isFirst && error instanceof SallyportError && error.retryable) return []
    throw error
  }
}
