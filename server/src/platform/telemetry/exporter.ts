/**
 * Sends spans and metrics to the operator's collector. It never delays a call and holds a bounded number of spans: what
 * the collector doesn't take in time is dropped and counted. One request at a time. Only what the collector says that it
 * did not take (OTLP/HTTP: 429, 502, 503, 504) is sent again, when its Retry-After allows.
 */
import type { EgressRequest } from '../egress/egress.ts'
import type { LoopbackAnswer } from '../egress/loopback-http.ts'
import { retryAfterTime } from '../backoff.ts'
import type { Clock } from '../clock.ts'
import { ServiceError } from '../errors.ts'
import type { Log } from '../operations/log.ts'
import type { Span } from './otlp.ts'

const maxQueuedSpans = 4096
const spansPerRequest = 512
const retryable = new Set([429, 502, 503, 504])
/** However long the collector asks for. */
const longestPauseMs = 300_000
const exportLimits = { connectMs: 5_000, firstByteMs: 10_000, wholeMs: 10_000, maxBytes: 65_536 }

type Answer = Pick<LoopbackAnswer, 'status' | 'headers'>

interface ExporterNeeds {
  endpoint: URL
  headers: readonly [string, string][]
  clock: Clock
  collect: (request: EgressRequest) => Promise<Answer>
  encodeSpans: (spans: readonly Span[]) => string
  encodeMetrics: () => Promise<string>
  onDropped: (spans: number) => void
  log: Log
}

export type Exporter = ReturnType<typeof createExporter>

export function createExporter(needs: ExporterNeeds) {
  const { endpoint, headers, clock, collect, log, onDropped } = needs
  let queue: Span[] = []
  let isFailing = false
  /** Exports run one after the other. */
  let last = Promise.resolve()
  let areSpansDue = false
  let areMetricsDue = false
  /** In milliseconds since 1970. */
  let notBefore = 0

  const isTooEarly = () => {
    const waitMs = notBefore - clock().getTime()
    // More than that means that the clock was set back.
    return waitMs > 0 && waitMs <= longestPauseMs
  }

  const noteRetryAfter = ({ headers: given }: Answer) => {
    const now = clock()
    const [, after = ''] = given.find(([name]) => name.toLowerCase() === 'retry-after') ?? []
    const wanted = retryAfterTime(after, now)?.getTime() ?? 0
    notBefore = Math.min(wanted, now.getTime() + longestPauseMs)
  }

  const send = async (signal: 'traces' | 'metrics', text: string): Promise<'taken' | 'refused' | 'later'> => {
    const url = new URL(endpoint)
    url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/${signal}`
    const { reason, isForLater } = await collect({
      url,
      method: 'POST',
      headers: [['content-type', 'application/json'], ...headers],
      body: Buffer.from(text),
      suppliedBy: 'operator',
      limits: exportLimits,
    }).then(
      (answer) => {
        const { status } = answer
        const isRetryable = retryable.has(status)
        if (isRetryable) noteRetryAfter(answer)
        return { reason: status >= 200 && status < 300 ? undefined : `http_${status}`, isForLater: isRetryable }
      },
      // The error itself may quote what was sent.
      (error: unknown) => ({ reason: error instanceof ServiceError ? error.code : 'internal', isForLater: false }),
    )
    if (reason !== undefined && !isFailing) log.warn({ reason }, 'the OTLP collector takes no telemetry')
    if (reason === undefined && isFailing) log.info('the OTLP collector takes telemetry again')
    isFailing = reason !== undefined
    return isFailing ? (isForLater ? 'later' : 'refused') : 'taken'
  }

  const sendSpans = async () => {
    areSpansDue = false
    if (isTooEarly()) return
    const waiting = queue.length
    for (let sent = 0; sent < waiting; sent += spansPerRequest) {
      const batch = queue.splice(0, Math.min(spansPerRequest, waiting - sent))
      const result = await send('traces', needs.encodeSpans(batch))
      if (result === 'taken') continue
      if (result === 'later') {
        keep(batch)
        return
      }
      // Whatever else has queued up would wait for the same collector.
      onDropped(batch.length + queue.length)
      queue = []
      return
    }
  }
  /** Puts them back in front. Of more than fit, the newest are dropped, as when the queue is full. */
  const keep = (batch: Span[]) => {
    const all = [...batch, ...queue]
    queue = all.slice(0, maxQueuedSpans)
    if (all.length > queue.length) onDropped(all.length - queue.length)
  }
  const sendMetrics = async () => {
    areMetricsDue = false
    // The next export has newer figures: nothing has to be kept.
    if (isTooEarly()) return
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
