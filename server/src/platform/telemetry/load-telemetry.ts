/** Traces and metrics over OTLP. Without an endpoint none of it is loaded. */
import type { Telemetry, TelemetryNeeds } from './telemetry.ts'

export async function loadTelemetry(needs: TelemetryNeeds): Promise<Telemetry | undefined> {
  if (!needs.config.otelExporterOtlpEndpoint) return undefined
  const { startTelemetry } = await import('./telemetry.ts')
  return startTelemetry(needs, needs.config.otelExporterOtlpEndpoint)
}
