import type { CallLog } from '../call-log/call-log.ts'
import type { Standing } from '../grants/standing.ts'
import type { Metrics } from '../platform/operations/metrics.ts'
import { isVerified } from '../providers/provider.ts'
import type { OnOutcome } from './flight.ts'
import type { AgentLoad } from './load.ts'

/** When a call passed from one part to the next, by the clock that times answers (`performance.now`). */
export interface CallTimes {
  startedAt: number
  /** Its attempt is recorded. */
  admittedAt?: number
  /** The buffered answer is complete, or the head of a streamed one has arrived. */
  answeredAt?: number
}

export interface CallMetrics {
  onOutcome: OnOutcome
  /** Called for every request once its answer is sent. Without times it was refused before its body was read. */
  onSent: (elapsedMs: number, times?: CallTimes) => void
}

const durationHelp =
  'Time of requests that make calls by part, on the clock of sallyport_http_request_duration_seconds: the parts add up ' +
  'to that. admission: from the head of the request until the call is on record, or is refused. upstream: the token, the ' +
  'requests to the upstream and their answer, of a stream up to its head. answer: redaction and sending, of a stream its whole body'

/** Labels have few values. No caller can add one, not even by proposing providers. */
export function measureCalls(metrics: Metrics, load: AgentLoad): CallMetrics {
  const { counter, histogram, gauge } = metrics
  const callsHelp = 'Proxied calls by outcome and provider; other: proposed by agents, or not known'
  const calls = counter('sallyport_proxy_calls_total', callsHelp, ['outcome', 'provider'])
  const answersHelp = 'Answers of upstreams to proxied calls by class of status (2xx) and provider'
  const answers = counter('sallyport_upstream_answers_total', answersHelp, ['status_class', 'provider'])
  const redactions = counter('sallyport_redactions_total', 'Credentials removed from answers', [])
  const observe = histogram('sallyport_proxy_call_duration_seconds', durationHelp, ['part'])
  const parts = { admission: observe('admission'), upstream: observe('upstream'), answer: observe('answer') }
  gauge('sallyport_proxy_calls_in_flight', 'Proxied calls whose answers are not sent yet', load.inFlight)

  return {
    onOutcome: (outcome, standing, seen) => {
      const provider = providerLabel(standing)
      calls.inc({ outcome, provider })
      if (!seen) return
      if (seen.redactions > 0) redactions.inc(seen.redactions)
      const statusClass = seen.status >= 100 && seen.status < 600 ? `${Math.floor(seen.status / 100)}xx` : 'other'
      answers.inc({ status_class: statusClass, provider })
    },
    onSent: (elapsedMs, times) => {
      const startedAt = times?.startedAt ?? 0
      const endedAt = startedAt + elapsedMs
      const { admittedAt = endedAt, answeredAt = endedAt } = times ?? {}
      parts.admission((admittedAt - startedAt) / 1000)
      if (times?.admittedAt === undefined) return
      parts.upstream((answeredAt - admittedAt) / 1000)
      if (times.answeredAt !== undefined) parts.answer((endedAt - answeredAt) / 1000)
    },
  }
}

/** Measures how long calls wait for the call log. */
export function measureCallLog(callLog: CallLog, { histogram }: Metrics): CallLog {
  const help = 'What a call waits for its commit: from asking to put it on record until that is on disk'
  const observe = histogram('sallyport_audit_commit_duration_seconds', help, [])()
  return {
    ...callLog,
    begin: async (call) => {
      const startedAt = performance.now()
      await callLog.begin(call)
      observe((performance.now() - startedAt) / 1000)
    },
  }
}

/** The slugs that an admin chose. */
export function providerLabel(standing: Standing | undefined): string {
  if (standing?.grant.kind === 'sandbox') return 'sandbox'
  const provider = standing?.provider
  return provider?.slug && isVerified(provider) ? provider.slug : 'other'
}
