import type { Metrics } from '../platform/operations/metrics.ts'
import type { RetentionResult } from './retention.ts'

/** Call the returned function with the result of each run. */
export function measureRetention({ counter, gauge }: Metrics): (result: RetentionResult) => void {
  let backlog = 0
  const removedTotal = counter('sallyport_audit_retention_removed_total', 'Records that retention has deleted', [])
  // Every process has the same backlog, so several are combined by their maximum, not their sum.
  const help = 'Records past their retention that the last run left, estimated'
  gauge('sallyport_audit_retention_backlog', help, () => backlog, 'max')
  return ({ removed, left }) => {
    removedTotal.inc(removed)
    backlog = left
  }
}
