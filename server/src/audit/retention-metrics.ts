import type { Metrics } from '../platform/operations/metrics.ts'
import type { RetentionResult } from './retention.ts'

/** Takes the result of each run of retention. */
export function measureRetention({ counter, gauge }: Metrics): (result: RetentionResult) => void {
  let backlog = 0
  const removedTotal = counter('sallyport_audit_retention_removed_total', 'Records that retention has deleted', [])
  // Every process sees the same backlog: the sum over several would be a multiple of it.
  const help = 'Records past their retention that the last run left, estimated'
  gauge('sallyport_audit_retention_backlog', help, () => backlog, 'max')
  return ({ removed, left }) => {
    removedTotal.inc(removed)
    backlog = left
  }
}
