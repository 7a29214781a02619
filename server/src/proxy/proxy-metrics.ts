import type { Metrics } from '../platform/metrics.ts'
import type { OnOutcome } from './flight.ts'
import type { AgentLoad } from './load.ts'

/** What an operator sees of the proxy. No label is a caller's to make up. */
export function measureCalls(metrics: Metrics, load: AgentLoad): OnOutcome {
  const calls = metrics.counter('sallyport_proxy_calls_total', 'Proxied calls by outcome', ['outcome'])
  const redactions = metrics.counter('sallyport_redactions_total', 'Credentials taken out of answers', [])
  const observe = metrics.histogram('sallyport_proxy_call_duration_seconds', 'How long answered calls took', [])()
  const counters = {
    answered: calls.labels('answered'),
    failed: calls.labels('failed'),
    refused: calls.labels('refused'),
  }
  metrics.gauge('sallyport_proxy_calls_in_flight', 'Calls under way', load.inFlight)
  return (outcome, seen) => {
    counters[outcome].inc()
    if (!seen) return
    if (seen.redactions > 0) redactions.inc(seen.redactions)
    observe(seen.ms / 1000)
  }
}
