/** The JSON encoding of OTLP 1.x (opentelemetry-proto): ids in hex, 64-bit integers as strings. */
import type { Figures } from '../operations/metrics.ts'

/** Members with an undefined value are left out. Only ids, codes and numbers of ours: never text that a caller sent. */
export type Attributes = Record<string, string | number | undefined>

export interface Span {
  traceId: string
  spanId: string
  parentSpanId: string | undefined
  name: string
  kind: 'internal' | 'server' | 'client'
  startMs: number
  endMs: number
  attributes: Attributes
  isFailed: boolean
}

const spanKinds = { internal: 1, server: 2, client: 3 }
const failedStatus = 2
const scope = { name: 'sallyport' }

export function encodeSpans(resource: Attributes, spans: readonly Span[]): string {
  const encoded = spans.map(({ kind, startMs, endMs, attributes, isFailed, ...span }) => ({
    ...span,
    kind: spanKinds[kind],
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(endMs),
    attributes: encodeAttributes(attributes),
    status: isFailed ? { code: failedStatus } : {},
  }))
  return JSON.stringify({
    resourceSpans: [{ resource: { attributes: encodeAttributes(resource) }, scopeSpans: [{ scope, spans: encoded }] }],
  })
}

export function encodeMetrics(
  resource: Attributes,
  figures: Figures,
  times: { startMs: number; nowMs: number },
): string {
  const time = { startTimeUnixNano: nanoseconds(times.startMs), timeUnixNano: nanoseconds(times.nowMs) }
  const metrics = figures.flatMap((figure) => {
    const data = encodeData(figure, time)
    return data ? [{ name: figure.name, description: figure.help, ...data }] : []
  })
  return JSON.stringify({
    resourceMetrics: [{ resource: { attributes: encodeAttributes(resource) }, scopeMetrics: [{ scope, metrics }] }],
  })
}

type Figure = Figures[number]
type Value = Figure['values'][number] & { metricName?: string }
interface Times {
  startTimeUnixNano: string
  timeUnixNano: string
}

/** Since the start of the process, as Prometheus counts too. */
const cumulative = { aggregationTemporality: 2 }

/** Undefined for a type that we don't have. */
function encodeData({ type, values }: Figure, time: Times): object | undefined {
  // The library's types and its values differ: the type is a word.
  const kind = String(type)
  const numbers = () =>
    values
      .filter(({ value }) => Number.isFinite(value))
      .map(({ labels, value }) => ({ ...time, attributes: encodeAttributes(labels as Attributes), asDouble: value }))
  if (kind === 'counter') return { sum: { dataPoints: numbers(), ...cumulative, isMonotonic: true } }
  if (kind === 'gauge') return { gauge: { dataPoints: numbers() } }
  if (kind === 'histogram') return { histogram: { dataPoints: encodeHistograms(values, time), ...cumulative } }
  return undefined
}

/** Prometheus counts all that is at most the bound, OTLP what is in each bucket alone. */
function encodeHistograms(values: readonly Value[], time: Times): object[] {
  const ofLabels = Map.groupBy(values, ({ labels }) => JSON.stringify({ ...labels, le: undefined }))
  return [...ofLabels].map(([key, own]) => {
    const buckets = own.filter(({ metricName = '' }) => metricName.endsWith('_bucket'))
    const counts = buckets.map(({ value }, index) => value - (buckets[index - 1]?.value ?? 0))
    const valueOf = (suffix: string) => own.find(({ metricName = '' }) => metricName.endsWith(suffix))?.value ?? 0
    return {
      ...time,
      attributes: encodeAttributes(JSON.parse(key) as Attributes),
      count: String(valueOf('_count')),
      sum: valueOf('_sum'),
      bucketCounts: counts.map(String),
      explicitBounds: buckets.map(({ labels }) => Number((labels as { le?: unknown }).le)).filter(Number.isFinite),
    }
  })
}

function encodeAttributes(attributes: Attributes): object[] {
  return Object.entries(attributes).flatMap(([key, value]) => {
    if (value === undefined) return []
    return [{ key, value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value } }]
  })
}

/** A number can't hold them: the fraction has six digits. */
function nanoseconds(ms: number): string {
  const whole = Math.floor(ms)
  return `${whole}${String(Math.floor((ms - whole) * 1e6)).padStart(6, '0')}`
}
