/** A real collector's front on loopback, over TLS: it takes OTLP/HTTP JSON and refuses what the specification refuses. */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import type { TestContext } from 'node:test'
import type { Environment } from '../src/platform/config/settings.ts'
import { startCallbackReceiver } from './callback-receiver.ts'
import { assertIsOtlp } from './otlp-definitions.ts'
import type { CallbackReceiver } from './callback-receiver.ts'

type Attributes = Record<string, string>

export interface ReceivedSpan {
  traceId: string
  spanId: string
  parentSpanId: string | undefined
  name: string
  kind: number
  isFailed: boolean
  startNs: bigint
  endNs: bigint
  attributes: Attributes
}

export interface ReceivedPoint {
  name: string
  attributes: Attributes
  value: number | undefined
  count: number | undefined
  bucketCounts: number[]
  bounds: number[]
}

export interface OtlpReceiver extends CallbackReceiver {
  /** The settings of a service that exports to it. */
  settings: Environment
  spans: () => ReceivedSpan[]
  /** The points of the newest export of metrics. */
  points: () => ReceivedPoint[]
}

export async function startOtlpReceiver(t: Pick<TestContext, 'after'>): Promise<OtlpReceiver> {
  const receiver = await startCallbackReceiver(t)
  const judged = new Set<object>()
  const bodiesAt = (path: string) =>
    receiver.received.flatMap((one): any[] => {
      assert.equal(one.headers['content-type'], 'application/json')
      if (one.path !== path) return []
      if (!judged.has(one)) assertIsOtlp(path.endsWith('traces') ? 'traces' : 'metrics', one.body)
      judged.add(one)
      return [JSON.parse(one.body)]
    })
  return {
    ...receiver,
    settings: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `https://${receiver.host}/otlp`,
      OTEL_BSP_SCHEDULE_DELAY: '100',
      OTEL_METRIC_EXPORT_INTERVAL: '100',
      SALLYPORT_EGRESS_CA_FILE: receiver.caFile,
    },
    spans: () => bodiesAt('/otlp/v1/traces').flatMap((body) => partsOf(body, 'Spans', 'spans').map(readSpan)),
    points: () => {
      const newest = bodiesAt('/otlp/v1/metrics').at(-1)
      return newest === undefined ? [] : partsOf(newest, 'Metrics', 'metrics').flatMap(readMetric)
    },
  }
}

export interface OtherReceiver {
  settings: Environment
  /** As that server has read them. */
  spans: () => { name: string; attributes: { key: string; value: { stringValue?: string } }[] }[]
  metricNames: () => string[]
  /** Everything that it got. */
  text: () => string
}

/** A receiver that others have written, over plain http on loopback, where collectors usually listen. */
export async function startOtherReceiver(t: Pick<TestContext, 'after'>): Promise<OtherReceiver> {
  const { MockOtlpServer } = createRequire(import.meta.url)('@elastic/mockotlpserver')
  const [traces, metrics, requests]: [any[], any[], any[]] = [[], [], []]
  const server = new MockOtlpServer({
    ...{ services: ['http'], httpHostname: '127.0.0.1', httpPort: 0, logLevel: 'fatal' },
    onTrace: (one: object) => traces.push(one),
    onMetrics: (one: object) => metrics.push(one),
    onRequest: (one: object) => requests.push(one),
  })
  await server.start()
  t.after(() => server.close())
  return {
    settings: {
      OTEL_EXPORTER_OTLP_ENDPOINT: String(server.httpUrl),
      OTEL_BSP_SCHEDULE_DELAY: '100',
      OTEL_METRIC_EXPORT_INTERVAL: '100',
    },
    spans: () => traces.flatMap((one) => partsOf(one, 'Spans', 'spans')),
    metricNames: () => metrics.flatMap((one) => partsOf(one, 'Metrics', 'metrics').map(({ name }) => name)),
    text: () => JSON.stringify([traces, metrics, requests]),
  }
}

function partsOf(body: any, what: 'Spans' | 'Metrics', member: string): any[] {
  return body[`resource${what}`].flatMap(({ resource, ...scopes }: any) => {
    assert.equal(readAttributes(resource.attributes)['service.name'], 'sallyport')
    return scopes[`scope${what}`].flatMap((scoped: any) => {
      assert.equal(typeof scoped.scope.name, 'string')
      return scoped[member]
    })
  })
}

function readSpan(span: any): ReceivedSpan {
  const { traceId, spanId, parentSpanId, name, kind, status } = span
  assert.match(traceId, /^(?!0{32})[0-9a-f]{32}$/)
  assert.match(spanId, /^(?!0{16})[0-9a-f]{16}$/)
  if (parentSpanId !== undefined) assert.match(parentSpanId, /^[0-9a-f]{16}$/)
  assert.ok([1, 2, 3].includes(kind) && [undefined, 2].includes(status.code))
  const [startNs, endNs] = [readNanoseconds(span.startTimeUnixNano), readNanoseconds(span.endTimeUnixNano)]
  assert.ok(startNs <= endNs, `${name} ends before it starts`)
  const attributes = readAttributes(span.attributes)
  return { traceId, spanId, parentSpanId, name, kind, isFailed: status.code === 2, startNs, endNs, attributes }
}

function readMetric({ name, sum, gauge, histogram, ...others }: any): ReceivedPoint[] {
  assert.deepEqual(Object.keys(others), ['description'])
  if (!gauge) assert.equal((sum ?? histogram).aggregationTemporality, 2)
  return (sum ?? gauge ?? histogram).dataPoints.map((point: any) => {
    readNanoseconds(point.timeUnixNano)
    const bucketCounts: number[] = (point.bucketCounts ?? []).map(Number)
    const bounds: number[] = point.explicitBounds ?? []
    if (histogram) assert.equal(bucketCounts.length, bounds.length + 1)
    else assert.equal(typeof point.asDouble, 'number')
    const count = point.count === undefined ? undefined : Number(point.count)
    return { name, attributes: readAttributes(point.attributes), value: point.asDouble, count, bucketCounts, bounds }
  })
}

function readAttributes(attributes: any[]): Attributes {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const [[kind, text] = [], ...more] = Object.entries(value)
      assert.ok(['stringValue', 'intValue'].includes(kind as string) && typeof text === 'string' && more.length === 0)
      return [key as string, text]
    }),
  )
}

/** 64-bit integers are strings. */
function readNanoseconds(text: unknown): bigint {
  assert.ok(typeof text === 'string' && /^\d{16,19}$/.test(text), String(text))
  return BigInt(text)
}
