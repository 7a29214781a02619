import { HealthReply } from '@sallyport/protocol/health'
import { headText } from '../audit/chain-heads.ts'
import type { SignedHead } from '../audit/chain-heads.ts'
import type {} from '../authenticate.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { lastMigration } from '../platform/database/migrate.ts'
import { findingsOf } from '../config/findings.ts'
import type { Http } from '../platform/http/http.ts'
import type { Metrics } from '../platform/operations/metrics.ts'
import { migrations } from '../migrations/migrations.ts'
import type { OutboxSize } from '../platform/outbox.ts'
import { pushChannels } from '../platform/push/push-settings.ts'
import { measureState } from './state-metrics.ts'

type Size = (queries: Queries, now: Date) => Promise<OutboxSize>

export interface HealthNeeds {
  config: Config
  database: Database
  clock: Clock
  callbacks: { size: Size }
  pushes: { size: Size }
  connections: { countNeedsReauth: (queries: Queries) => Promise<number> }
  providers: { countPending: (queries: Queries) => Promise<number> }
  auditChains: { findLastSigned: (queries: Queries) => Promise<SignedHead | undefined> }
  version: string
  /** Environment variables with our prefix that are not settings. */
  unknownSettings?: readonly string[]
  /** How far this machine's clock is ahead of the database's. */
  clockOffsetMs?: () => number
  metrics: Metrics
}

export function healthRoutes(http: Http, needs: HealthNeeds): void {
  const { config, database, clock, callbacks, pushes, connections, providers, auditChains } = needs
  const startedAt = clock()
  measureState(needs)

  http.get(
    '/v4/health',
    {
      config: { allow: ['admin'] },
      schema: {
        tags: ['Health'],
        summary: 'Get the service status: version, database, pending deliveries, problems',
        response: { 200: HealthReply },
      },
    },
    async () => {
      const { queries } = database
      const now = clock()
      const head = await auditChains.findLastSigned(queries)
      return {
        version: needs.version,
        started_at: startedAt.toISOString(),
        workers: config.workers,
        database: {
          engine: database.engine,
          migration: await lastMigration(queries),
          newest_migration: migrations.length,
        },
        outboxes: {
          callbacks: outboxView(await callbacks.size(queries, now)),
          pushes: outboxView(await pushes.size(queries, now)),
        },
        connections: { needs_reauth: await connections.countNeedsReauth(queries) },
        providers: { pending_credentials: await providers.countPending(queries) },
        audit: { last_head: head ? { text: headText(head), signed_at: new Date(head.at).toISOString() } : null },
        push: pushChannels(config),
        findings: findingsOf(config, needs.unknownSettings ?? [], clock),
      }
    },
  )
}

function outboxView({ waiting, due, oldestDueAt }: OutboxSize) {
  return { waiting, due, oldest_due_at: oldestDueAt?.toISOString() ?? null }
}
