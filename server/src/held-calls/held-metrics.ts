import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import type { Metrics } from '../platform/operations/metrics.ts'
import type { HeldCallStore } from './held-call-store.ts'

export interface HeldMetrics {
  onEvent: (event: 'held' | 'approved' | 'denied' | 'expired' | 'cancelled', count?: number) => void
}

interface MetricNeeds {
  database: Database
  heldCallStore: HeldCallStore
  metrics: Metrics
  clock: Clock
}

const mostCounted = 10_000

export function measureHeldCalls({ database, heldCallStore, metrics, clock }: MetricNeeds): HeldMetrics {
  const help = 'Calls that were held for a decision, and what became of them'
  const events = metrics.counter('sallyport_held_calls_total', help, ['event'])
  metrics.gauge(
    'sallyport_held_calls_waiting',
    'Calls that wait for a decision, at most 10000',
    () => heldCallStore.countAllWaiting(database.queries, clock(), mostCounted).catch(() => undefined),
    'max',
  )
  return {
    onEvent: (event, count = 1) => {
      events.inc({ event }, count)
    },
  }
}
