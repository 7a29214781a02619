/** Settings with OpenTelemetry's own names and meanings. */
import { integer, optional, otlpEndpoint, setting } from '../config/settings.ts'
import type { SecretSource } from '../config/settings.ts'

export const otlpSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    null,
    'The URL of a collector, https or on this machine, that gets traces and metrics as OTLP/HTTP JSON, at /v1/traces and /v1/metrics below it',
    optional(otlpEndpoint),
  ),
  OTEL_BSP_SCHEDULE_DELAY: setting('5000', 'Milliseconds between exports of spans', integer(100, 300_000)),
  OTEL_METRIC_EXPORT_INTERVAL: setting('60000', 'Milliseconds between exports of metrics', integer(100, 3_600_000)),
}

export const otlpSecretSettings = {
  OTEL_EXPORTER_OTLP_HEADERS: {
    fallback: 'none',
    meaning: 'Headers for the collector, such as authorization=Bearer%20…, separated by commas',
  },
} as const

interface Values {
  otelExporterOtlpEndpoint: URL | undefined
  otelExporterOtlpHeaders: SecretSource
}

export function otlpContradictions({ otelExporterOtlpEndpoint, otelExporterOtlpHeaders: headers }: Values): string[] {
  if (!headers.isSet) return []
  if (!otelExporterOtlpEndpoint)
    return [`${headers.name} has no effect because OTEL_EXPORTER_OTLP_ENDPOINT is not set.`]
  return readOtlpHeaders(headers)
    ? []
    : [`${headers.name} must be name=value pairs separated by commas, with percent-encoded values.`]
}

/** As OpenTelemetry has them. Undefined if they are malformed. */
export function readOtlpHeaders(source: SecretSource): [string, string][] | undefined {
  const given = source.read()
  return given ? parseOtlpHeaders(given.reveal()) : []
}

export function parseOtlpHeaders(given: string): [string, string][] | undefined {
  try {
    return given.split(',').map((pair) => {
      const [, name = '', value = ''] = /^\s*([\w-]+)\s*=\s*([\x21-\x7e]+)\s*$/.exec(pair) ?? []
      const decoded = decodeURIComponent(value)
      if (name === '' || !/^[\x20-\x7e]+$/.test(decoded)) throw new TypeError('malformed')
      return [name.toLowerCase(), decoded]
    })
  } catch {
    return undefined
  }
}
