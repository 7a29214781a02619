/**
 * Sends spans and metrics to the operator's collector. It never delays a call and holds a bounded number of spans: what
 * the collector doesn't take in time is dropped and counted. One request at a time, and none is repeated.
 */
import type { EgressRequest } from '../egress/egress.ts'
import type { WholeAnswer } from '../egress/answers.ts'
import { ServiceError } from '../errors.ts'
import type { Log } from '../operations/log.ts'
import type { Span } from './otlp.ts'

const maxQueuedSpans = 4096
const spansPerRequest = 512
const exportLimits = { connectMs: 5_000, firstByteMs: 10_000, wholeMs: 10_000, maxBytes: 65_536 }

interface ExporterNeeds {
  endpoint: URL
  headers: readonly [string, string][]
  collect: (request: EgressRequest) => Promise<WholeAnswer>
  encodeSpans: (spans: readonly Span[]) => string
  encodeMetrics: () => Promise<string>
  onDropped: (spans: number) => void
  log: Log
}

export type Exporter = ReturnType<typeof createExporter>

export function createExporter(needs: ExporterNeeds) {
  const { endpoint, headers, collect, log, onDropped } = needs
  let queue: Span[] = []
  let isFailing = false
  /** Exports run one after the other. */
  let last = Promise.resolve()
  let areSpansDue = false
  let areMetricsDue = false

  const send = async (signal: 'traces' | 'metrics', text: string): Promise<boolean> => {
    const url = new URL(endpoint)
    url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/${signal}`
    const reason = await collect({
      url,
      method: 'POST',
      headers: [['content-type', 'application/json'], ...headers],
      body: Buffer.from(text),
      suppliedBy: 'operator',
      limits: exportLimits,
    }).then(
      ({ status }) => (status >= 200 && status < 300 ? undefined : `http_${status}`),
      // The error itself may quote what was sent.
      (error: unknown) => (error instanceof ServiceError ? error.code : 'internal'),
    )
    if (reason !== undefined && !isFailing) log.warn({ reason }, 'the OTLP collector takes no telemetry')
    if (reason === undefined && isFailing) log.info('the OTLP collector takes telemetry again')
    isFailing = reason !== undefined
    return !isFailing
  }

  const sendSpans = async () => {
    areSpansDue = false
    const waiting = queue.length
    for (let sent = 0; sent < waiting; sent += spansPerRequest) {
      const batch = queue.splice(0, Math.min(spansPerRequest, waiting - sent))
      if (await send('traces', needs.encodeSpans(batch))) continue
      // Whatever else has queued up would wait for the same collector.
      onDropped(batch.length + queue.length)
      queue = []
      return
    }
  }
  const sendMetrics = async () => {
    areMetricsDue = false
    await send('metrics', await needs.encodeMetrics())
  }
  const after = (work: () => Promise<void>): Promise<void> =>
    (last = last.then(work).catch((error: unknown) => {
      log.error({ err: error }, 'telemetry could not be exported')
    }))

  const exportSpans = (): Promise<void> => {
    if (areSpansDue || queue.length === 0) return last
    areSpansDue = true
    return after(sendSpans)
  }

  return {
    add: (span: Span): void => {
      if (queue.length === maxQueuedSpans) {
        onDropped(1)
        return
      }
      queue.push(span)
      // A collector that fails is asked again only when the next export is due.
      if (queue.length >= spansPerRequest && !isFailing) void exportSpans()
    },
    exportSpans,
    exportMetrics: (): Promise<void> => {
      // A slow collector gets the newest figures once, not every state in between.
      if (areMetricsDue) return last
      areMetricsDue = true
      return after(sendMetrics)
    },
  }
}
