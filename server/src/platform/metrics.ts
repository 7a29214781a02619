import { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { PoolFigures } from './database/postgres-pool.ts'
import type { Http } from './http/http.ts'

/** All figures of one process, in a form that can be sent to another. */
export type Figures = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

export interface Metrics {
  registry: Registry
  /** What a collector reads. */
  text: () => Promise<string>
  counter: <L extends string>(name: string, help: string, labels: L[]) => Counter<L>
  /** In seconds. Gives for each set of label values what takes its figures. */
  histogram: (name: string, help: string, labels: string[]) => (...values: string[]) => Observe
  /** Read whenever somebody asks. */
  gauge: (name: string, help: string, read: () => number, ofSeveralProcesses?: 'sum' | 'max') => void
}

export type Observe = (seconds: number) => void

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60]

/** Where several processes share the port, `figuresOfAll` asks each of them, this one too. */
export function createMetrics(figuresOfAll?: () => Promise<Figures[]>, pool?: () => PoolFigures): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const metrics = metricsIn(registry, figuresOfAll)
  if (pool) {
    const { gauge } = metrics
    gauge('sallyport_database_connections', 'Connections that transactions may use', () => pool().size)
    gauge('sallyport_database_connections_used', 'Those that transactions use just now', () => pool().used)
    gauge('sallyport_database_waiting', 'Transactions that wait for a connection', () => pool().waiting)
  }
  return metrics
}

function metricsIn(registry: Registry, figuresOfAll: (() => Promise<Figures[]>) | undefined): Metrics {
  return {
    registry,
    text: async () => {
      return figuresOfAll ? AggregatorRegistry.aggregate(await figuresOfAll()).metrics() : registry.metrics()
    },
    counter: (name, help, labels) => new Counter({ name, help, labelNames: labels, registers: [registry] }),
    histogram: (name, help, labels) => {
      const flushes: (() => void)[] = []
      const collect = () => {
        for (const flush of flushes) flush()
      }
      const whole = { name, help, labelNames: labels, buckets: seconds, registers: [registry], collect }
      const histogram = new Histogram(whole)
      return (...values) => {
        const one = histogram.labels(...values)
        const { take, flush } = inBulk((figure) => {
          one.observe(figure)
        })
        flushes.push(flush)
        return take
      }
    },
    gauge: (name, help, read, aggregator = 'sum') => {
      const gauge: Gauge = new Gauge({
        name,
        help,
        aggregator,
        registers: [registry],
        collect: () => {
          gauge.set(read())
        },
      })
    },
  }
}

const mostWaiting = 256

/** The library takes many figures in a row in a fraction of the time that each takes by itself. */
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

/** Labelled by route, never by path: what callers make up must not become time series. */
export function measureResponses(http: Http, { histogram }: Metrics): void {
  const labels = ['method', 'route', 'status']
  const duration = histogram('sallyport_http_request_duration_seconds', 'How long answers took', labels)
  const observers = new Map<string, Observe>()
  http.addHook('onResponse', (request, reply, done) => {
    const { method } = request
    const route = request.routeOptions.url ?? '(none)'
    const status = String(reply.statusCode)
    const key = `${method} ${route} ${status}`
    let observe = observers.get(key)
    if (!observe) observers.set(key, (observe = duration(method, route, status)))
    observe(reply.elapsedTime / 1000)
    done()
  })
}
