/** Joins spans, metrics and the exporter. Loaded only where a collector is set (load-telemetry.ts). */
import { hostname } from 'node:os'
import type { Clock } from '../clock.ts'
import type { PlatformConfig } from '../config/platform-settings.ts'
import type { Database } from '../database/database.ts'
import { createEgress } from '../egress/egress.ts'
import { egressProxyOf } from '../egress/egress-settings.ts'
import { collectFromLoopback } from '../egress/loopback-http.ts'
import type { Http } from '../http/http.ts'
import type { Log } from '../operations/log.ts'
import type { Metrics } from '../operations/metrics.ts'
import { createExporter } from './exporter.ts'
import { encodeMetrics, encodeSpans } from './otlp.ts'
import { readOtlpHeaders } from './otlp-settings.ts'
import { createTracer } from '../http/request-spans.ts'
import type { Tracer } from '../http/request-spans.ts'

export interface TelemetryNeeds {
  config: PlatformConfig
  clock: Clock
  /** `transaction` is wrapped. */
  database: Database
  log: Log
  metrics: Metrics
  version: string
}

export interface Telemetry extends Tracer {
  traceRequests: (http: Http) => void
}

/** Time at a stop to hand over what is left. */
const lastExportMs = 2_000

export function startTelemetry(needs: TelemetryNeeds, endpoint: URL): Telemetry {
  const { config, clock, database, log, metrics, version } = needs
  const dropped = metrics.counter(
    'sallyport_telemetry_spans_dropped_total',
    'Spans that the collector did not take',
    [],
  )
  const resource = {
    'service.name': 'sallyport',
    'service.version': version,
    'service.instance.id': `${hostname()}:${process.pid}`,
  }
  const startMs = clock().getTime()
  // The collector may be at an address that nothing else may call, so it has connections of its own.
  const egress = createEgress({
    allow: [{ kind: 'place', host: endpoint.hostname.replace(/^\[|\]$/g, ''), port: Number(endpoint.port || 443) }],
    userAgent: `Sallyport/${version}`,
    proxy: egressProxyOf(config),
    ...(config.egressCaFile && { ca: config.egressCaFile.pem }),
    bounds: { maxSocketsPerPool: 1, maxSockets: 1 },
  })
  const exporter = createExporter({
    endpoint,
    headers: readOtlpHeaders(config.otelExporterOtlpHeaders) ?? [],
    clock,
    collect: endpoint.protocol === 'http:' ? collectFromLoopback : egress.collect,
    encodeSpans: (spans) => encodeSpans(resource, spans),
    encodeMetrics: async () => {
      const times = { startMs, nowMs: clock().getTime() }
      return encodeMetrics(resource, await metrics.registry.getMetricsAsJSON(), times)
    },
    onDropped: (spans) => {
      dropped.inc(spans)
    },
    log,
  })

  const { span, traceRequests } = createTracer(clock, exporter.add)
  const { transaction } = database
  database.transaction = (work, options) => span('database transaction', 'client', () => transaction(work, options))
  const exportRegularly = (http: Http) => {
    const timers = [
      setInterval(() => void exporter.exportSpans(), config.otelBspScheduleDelay).unref(),
      setInterval(() => void exporter.exportMetrics(), config.otelMetricExportInterval).unref(),
    ]
    http.addHook('onClose', async () => {
      timers.forEach(clearInterval)
      const late = AbortSignal.timeout(lastExportMs)
      const isLate = new Promise((resolve) => {
        late.addEventListener('abort', resolve)
      })
      await Promise.race([Promise.all([exporter.exportSpans(), exporter.exportMetrics()]), isLate])
      await egress.close()
    })
  }

  return {
    span,
    traceRequests: (http) => {
      traceRequests(http)
      exportRegularly(http)
    },
  }
}
