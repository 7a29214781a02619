/** Counts calls over time: parts of equal length between two instants, whatever clock on a wall the reader has. */
import type { AuditOutcome } from '@sallyport/protocol/audit'

export interface Span {
  since: Date
  until: Date
  buckets: number
}

export interface CountedCall {
  grantId: string | null
  at: number
  outcome: AuditOutcome
  /** How many it stands for. */
  count: number
}

export interface Series {
  grantId: string | null
  total: number
  lastCallAt: number
  counts: Record<AuditOutcome, number[]>
}

/** Where each part begins: whole milliseconds, and together exactly the span. */
export function startsOf({ since, until, buckets }: Span): Date[] {
  const length = until.getTime() - since.getTime()
  return Array.from(
    { length: buckets },
    (_, index) => new Date(since.getTime() + Math.ceil((index * length) / buckets)),
  )
}

/** Which part an instant falls into; undefined outside of the span. */
export function bucketOf({ since, until, buckets }: Span, at: number): number | undefined {
  if (at < since.getTime() || at >= until.getTime()) return undefined
  return Math.floor(((at - since.getTime()) * buckets) / (until.getTime() - since.getTime()))
}

export function addTo(series: Map<string | null, Series>, span: Span, key: string | null, call: CountedCall): void {
  const bucket = bucketOf(span, call.at)
  if (bucket === undefined) return
  const one = series.get(key) ?? emptySeries(key, span.buckets)
  series.set(key, one)
  one.total += call.count
  one.lastCallAt = Math.max(one.lastCallAt, call.at)
  const counts = one.counts[call.outcome]
  counts[bucket] = (counts[bucket] ?? 0) + call.count
}

export function emptySeries(grantId: string | null, buckets: number): Series {
  const zeros = () => Array.from({ length: buckets }, () => 0)
  const counts = { answered: zeros(), failed: zeros(), refused: zeros(), unknown: zeros() }
  return { grantId, total: 0, lastCallAt: 0, counts }
}
