import { once } from 'node:events'
import type { Server } from 'node:http'
import type { Config } from '../config.ts'
import { pingDatabase } from '../database/database.ts'
import type { Database } from '../database/database.ts'
import type { DiskSpace } from '../disk-space.ts'
import { ServiceError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { Http } from './http.ts'
import { createHttpListener } from './listener.ts'
import type { ListenerTimeouts } from './listener.ts'

interface OperationsNeeds {
  config: Pick<Config, 'metricsPort'>
  database: Database
  metrics: Metrics
  diskSpace: DiskSpace
  /** True from the stop signal on, so that a load balancer looks elsewhere while calls in flight end. */
  isStopping: () => boolean
}

export function operationsRoutes(
  http: Http,
  { config, database, metrics, diskSpace, isStopping }: OperationsNeeds,
): void {
  http.get('/healthz', () => ({ status: 'ok' }))
  http.get('/readyz', async () => {
    if (isStopping()) throw new ServiceError('not_ready', { message: 'The service is stopping.' })
    await pingDatabase(database)
    if (diskSpace() === 'full') throw new ServiceError('not_ready', { message: 'The disk is full.' })
    return { status: 'ok' }
  })
  if (config.metricsPort !== undefined) return
  http.get('/metrics', { config: { allow: ['admin'] } }, async (_request, reply) => {
    return reply.type(metrics.registry.contentType).send(await metrics.text())
  })
}

/** On a port of its own the metrics need no token: keep it where only the collector can reach it. */
export async function serveMetrics(
  { registry, text }: Metrics,
  port: number,
  config: ListenerTimeouts & Pick<Config, 'host'>,
  log: Log,
): Promise<Server> {
  const server = createHttpListener(config, log, (request, response) => {
    const isKnown = request.method === 'GET' && request.url === '/metrics'
    if (!isKnown) {
      response.writeHead(404).end()
      return
    }
    text().then(
      (figures) => response.writeHead(200, { 'content-type': registry.contentType }).end(figures),
      () => response.writeHead(503).end(),
    )
  })
  await once(server.listen(port, config.host), 'listening')
  return server
}
