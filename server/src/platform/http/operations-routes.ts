import { once } from 'node:events'
import type { IncomingMessage, Server } from 'node:http'
import type { PlatformConfig } from '../config/platform-settings.ts'
import type { Log } from '../operations/log.ts'
import type { Metrics } from '../operations/metrics.ts'
import type { Readiness } from '../operations/readiness.ts'
import { Secret } from '../secret.ts'
import { hashToken, isSameHash } from '../tokens.ts'
import type { Http } from './http.ts'
import { backlog, createHttpListener } from './listener.ts'
import type { ListenerTimeouts } from './listener.ts'

export interface CrewNeeds {
  /** If several processes share the port: how many give no sign of life, and how many were replaced. */
  crew?: () => { silent: number; replaced: number }
}

interface OperationsNeeds extends CrewNeeds {
  config: Pick<PlatformConfig, 'metricsPort'>
  metrics: Metrics
  readiness: Readiness
  /** How far this machine's clock is ahead of the database's. */
  clockOffsetMs?: () => number
}

const probe = { config: { isProbe: true } }

export function operationsRoutes(
  http: Http,
  { config, metrics, readiness, clockOffsetMs = () => 0, crew }: OperationsNeeds,
): void {
  http.get('/healthz', probe, () => {
    readiness.assertAlive()
    return { status: 'ok' }
  })
  http.get('/readyz', probe, async () => {
    await readiness.assertReady()
    const others = crew && { silent_workers: crew().silent }
    return { status: 'ok', clock_offset_ms: Math.round(clockOffsetMs()), ...others }
  })
  measureCrew(metrics, crew ?? alone)
  if (config.metricsPort !== undefined) return
  http.get('/metrics', { config: { ...probe.config, allow: ['admin', 'collector'] } }, async (_request, reply) => {
    return reply.type(metrics.registry.contentType).send(await metrics.text())
  })
}

const alone = () => ({ silent: 0, replaced: 0 })

/** Every worker has the same figures. */
function measureCrew({ gauge }: Metrics, crew: NonNullable<CrewNeeds['crew']>): void {
  gauge('sallyport_workers_silent', 'Workers that give no sign of life', () => crew().silent, 'max')
  gauge('sallyport_workers_replaced', 'Workers that were replaced since the start', () => crew().replaced, 'max')
}

/** Serves metrics on their own port, with a token if one is set. Config requires one unless the host is loopback. */
export async function serveMetrics(
  { registry, text }: Metrics,
  port: number,
  config: ListenerTimeouts & Pick<PlatformConfig, 'host' | 'metricsToken'>,
  log: Log,
): Promise<Server> {
  const token = config.metricsToken.read()
  const tokenHash = token && hashToken(token)
  const isAdmitted = ({ headers: { authorization = '' } }: IncomingMessage) =>
    tokenHash === undefined ||
    (/^Bearer \S+$/i.test(authorization) && isSameHash(hashToken(new Secret(authorization.slice(7))), tokenHash))
  const server = createHttpListener(config, log, (request, response) => {
    const isKnown = request.method === 'GET' && request.url === '/metrics'
    if (!isKnown) {
      response.writeHead(404).end()
      return
    }
    if (!isAdmitted(request)) {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end()
      return
    }
    text().then(
      (figures) => response.writeHead(200, { 'content-type': registry.contentType }).end(figures),
      () => response.writeHead(503).end(),
    )
  })
  await once(server.listen({ port, host: config.host, backlog }), 'listening')
  return server
}
