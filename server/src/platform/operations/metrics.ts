import { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Database } from '../database/database.ts'
import type { Http } from '../http/http.ts'

/** All metrics of one process, in a form that can be sent to another process. */
export type Figures = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

export type Observe = (seconds: number) => void

type Reading = number | undefined
type Aggregation = 'sum' | 'max' | 'average'

export type Metrics = ReturnType<typeof createMetrics>

/** Buckets. Calls may take up to five minutes, streams even longer. */
const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]

/** With several workers, `figuresOfAll` collects the metrics of all of them. */
export function createMetrics(figuresOfAll?: () => Promise<Figures[]>) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return {
    registry,
    /** The metrics in Prometheus's text format. */
    text: async (): Promise<string> =>
      figuresOfAll ? AggregatorRegistry.aggregate(await figuresOfAll()).metrics() : registry.metrics(),
    counter: <L extends string>(name: string, help: string, labels: L[]) =>
      new Counter({ name, help, labelNames: labels, registers: [registry] }),
    /** In seconds. Returns a function that gives the observer for a set of label values. */
    histogram: (name: string, help: string, labels: string[]) => {
      const flushes: (() => void)[] = []
      const collect = () => {
        for (const flush of flushes) flush()
      }
      const whole = { name, help, labelNames: labels, buckets: seconds, registers: [registry], collect }
      const histogram = new Histogram(whole)
      return (...values: string[]): Observe => {
        const one = histogram.labels(...values)
        const { take, flush } = inBulk((figure) => {
          one.observe(figure)
        })
        flushes.push(flush)
        return take
      }
    },
    /** Read at each collection. Left out while `read` returns undefined. */
    gauge: (
      name: string,
      help: string,
      read: () => Reading | Promise<Reading>,
      ofSeveralProcesses: Aggregation = 'sum',
    ): void => {
      const gauge: Gauge = new Gauge({
        name,
        help,
        aggregator: ofSeveralProcesses,
        registers: [registry],
        collect: async () => {
          const value = await read()
          if (value === undefined) gauge.remove()
          else gauge.set(value)
        },
      })
    },
    /** Always 1: the information is in the labels. */
    info: (name: string, help: string, labels: Record<string, string>): void => {
      const labelNames = Object.keys(labels)
      new Gauge({ name, help, labelNames, aggregator: 'first', registers: [registry] }).set(labels, 1)
    },
  }
}

const mostWaiting = 256

/** Observing many values in a row takes a fraction of the time that each takes by itself. */
function inBulk(observe: Observe): { take: Observe; flush: () => void } {
  const waiting: number[] = []
  const flush = () => {
    for (const figure of waiting) observe(figure)
    waiting.length = 0
  }
  const take = (figure: number) => {
    if (waiting.push(figure) === mostWaiting) flush()
  }
  return { take, flush }
}

/** Labelled by route, never by path: callers must not be able to create time series. */
export function measureResponses(http: Http, { counter, histogram }: Metrics): void {
  const duration = histogram(
    'sallyport_http_request_duration_seconds',
    "From the arrival of a request's head until its answer is sent or its connection closed",
    ['method', 'route', 'status'],
  )
  const errors = counter('sallyport_errors_total', 'Error responses by code', ['code'])
  const limited = counter('sallyport_rate_limited_total', 'Responses with status 429 by route', ['route'])
  const observers = new Map<string, Observe>()
  http.addHook('onResponse', (request, reply, done) => {
    const { method, failure } = request
    const route = request.routeOptions.url ?? '(none)'
    const status = String(reply.statusCode)
    const key = `${method} ${route} ${status}`
    let observe = observers.get(key)
    if (!observe) observers.set(key, (observe = duration(method, route, status)))
    observe(reply.elapsedTime / 1000)
    if (failure) errors.inc({ code: failure.code })
    if (reply.statusCode === 429) limited.inc({ route })
    done()
  })
}

/** Measures the pool, and wraps `transaction` to measure its duration. */
export function measureDatabase(database: Database, { gauge, histogram }: Metrics): void {
  const { pool, transaction } = database
  if (pool) {
    gauge('sallyport_database_connections', 'Connections available to transactions', () => pool().size)
    gauge('sallyport_database_connections_used', 'Connections in use by transactions', () => pool().used)
    gauge('sallyport_database_waiting', 'Transactions waiting for a connection', () => pool().waiting)
  }
  const help = 'Duration of transactions, including the wait for a connection and retries'
  const observe = histogram('sallyport_database_transaction_duration_seconds', help, [])()
  database.transaction = async (work, options) => {
    const startedAt = performance.now()
    try {
      return await transaction(work, options)
    } finally {
      observe((performance.now() - startedAt) / 1000)
    }
  }
}
