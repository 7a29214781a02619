import { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Http } from './http/http.ts'

/** All figures of one process, in a form that can be sent to another. */
export type Figures = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

export interface Metrics {
  registry: Registry
  /** What a collector reads. */
  text: () => Promise<string>
  counter: <L extends string>(name: string, help: string, labels: L[]) => Counter<L>
  /** In seconds. */
  histogram: <L extends string>(name: string, help: string, labels: L[]) => Histogram<L>
  /** Read whenever somebody asks. */
  gauge: (name: string, help: string, read: () => number) => void
}

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60]

/** Where several processes share the port, `figuresOfAll` asks each of them, this one too. */
export function createMetrics(figuresOfAll?: () => Promise<Figures[]>): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return {
    registry,
    text: async () => {
      return figuresOfAll ? AggregatorRegistry.aggregate(await figuresOfAll()).metrics() : registry.metrics()
    },
    counter: (name, help, labels) => new Counter({ name, help, labelNames: labels, registers: [registry] }),
    histogram: (name, help, labels) =>
      new Histogram({ name, help, labelNames: labels, buckets: seconds, registers: [registry] }),
    gauge: (name, help, read) => {
      const gauge: Gauge = new Gauge({
        name,
        help,
        registers: [registry],
        collect: () => {
          gauge.set(read())
        },
      })
    },
  }
}

/** Labelled by route, never by path: what callers make up must not become time series. */
export function measureResponses(http: Http, { histogram }: Metrics): void {
  const labels: ('method' | 'route' | 'status')[] = ['method', 'route', 'status']
  const duration = histogram('sallyport_http_request_duration_seconds', 'How long answers took', labels)
  // The library looks each set of labels up anew; there are only so many.
  const observers = new Map<string, Histogram.Internal<'method' | 'route' | 'status'>>()
  const observerOf = (method: string, route: string, status: number) => {
    const key = `${method} ${route} ${status}`
    let observer = observers.get(key)
    if (!observer) observers.set(key, (observer = duration.labels(method, route, String(status))))
    return observer
  }
  http.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? '(none)'
    observerOf(request.method, route, reply.statusCode).observe(reply.elapsedTime / 1000)
    done()
  })
}
