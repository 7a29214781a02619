/** Counts calls over time, in buckets of equal length between two instants. Independent of time zones. */
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
  /** It was answered, with a status of 400 or more. */
  isErrorAnswer: boolean
  /** A record may stand for several calls. */
  count: number
}

export interface Series {
  grantId: string | null
  total: number
  lastCallAt: number
  counts: Record<Counted, number[]>
}

type Counted = AuditOutcome | 'answered_errors'

/** Where each bucket begins, in whole milliseconds. */
export function startsOf({ since, until, buckets }: Span): Date[] {
  const length = until.getTime() - since.getTime()
  return Array.from(
    { length: buckets },
    (_, index) => new Date(since.getTime() + Math.ceil((index * length) / buckets)),
  )
}

/** The bucket of an instant. Undefined outside of the span. */
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
  const counted: Counted[] = call.isErrorAnswer ? [call.outcome, 'answered_errors'] : [call.outcome]
  for (const name of counted) {
    const counts = one.counts[name]
    counts[bucket] = (counts[bucket] ?? 0) + call.count
  }
}

export function emptySeries(grantId: string | null, buckets: number): Series {
  const zeros = () => Array.from({ length: buckets }, () => 0)
  const counts = { answered: zeros(), answered_errors: zeros(), failed: zeros(), refused: zeros(), unknown: zeros() }
  return { grantId, total: 0, lastCallAt: 0, counts }
}
