/** Creates all parts of the service and connects them. Does not listen on a port. */
import { accessRequestRoutes } from './access-requests/access-request-routes.ts'
import { changeRoutes } from './access-requests/change-routes.ts'
import { decisionRoutes } from './access-requests/decision-routes.ts'
import { agentNameRoutes } from './access-requests/agent-name-routes.ts'
import { mutedAgentRoutes } from './access-requests/muted-agent-routes.ts'
import { isAgentKey } from './agents/agent.ts'
import type { App } from './running-app.ts'
import { agentRoutes } from './agents/agent-routes.ts'
import { auditKeyRoutes } from './audit/audit-key-routes.ts'
import { auditRoutes } from './call-log/audit-routes.ts'
import { serveCalls } from './calls.ts'
import { callSeriesRoutes } from './call-log/call-series-routes.ts'
import { grantUseRoutes } from './call-log/grant-use-routes.ts'
import { headText } from './audit/chain-heads.ts'
import { authenticateCalls } from './authenticate.ts'
import { connectRoutes } from './connections/connect-routes.ts'
import { connectionRoutes } from './connections/connection-routes.ts'
import { deviceFlowRoutes } from './connections/device-flow-routes.ts'
import { deviceRoutes } from './devices/device-routes.ts'
import { meRoutes } from './devices/me-routes.ts'
import { pushTokenRoutes } from './devices/push-token-routes.ts'
import { eventRoutes } from './events/event-routes.ts'
import { createListeners } from './events/listeners.ts'
import { createGateway } from './gateway/gateway.ts'
import { pauseRoutes } from './pauses/pause-routes.ts'
import { grantRoutes } from './grants/grant-routes.ts'
import { endGrantsOf } from './grants/revoke.ts'
import { healthRoutes } from './health/health-routes.ts'
import type { HealthNeeds } from './health/health-routes.ts'
import { legacyV1Routes } from './legacy-v1/legacy-v1-routes.ts'
import { shedLoad } from './load-shedding.ts'
import { migrations } from './migrations/migrations.ts'
import { createBackgroundJobs } from './background-jobs.ts'
import { pageRoutes } from './page-routes.ts'
import type { Clock } from './platform/clock.ts'
import type { Config } from './config/config.ts'
import type { Database } from './platform/database/database.ts'
import { createDiskSpace, guardDiskSpace } from './platform/limits/disk-space.ts'
import { mailRoutes } from './mail/mail-routes.ts'
import type { Egress } from './platform/egress/egress.ts'
import { agentGuideRoutes } from './reference/agent-guide-routes.ts'
import { createHttp } from './platform/http/http.ts'
import { limitLists } from './platform/http/limit-lists.ts'
import { describeRoutes } from './reference/openapi-routes.ts'
import { operationsRoutes, type CrewNeeds } from './platform/http/operations-routes.ts'
import type { Log } from './platform/operations/log.ts'
import { createMetrics, measureDatabase, measureResponses } from './platform/operations/metrics.ts'
import type { Figures } from './platform/operations/metrics.ts'
import { createOAuth } from './platform/oauth/oauth.ts'
import { createReadBudget } from './platform/limits/read-budget.ts'
import { createReadiness } from './platform/operations/readiness.ts'
import type { Secret } from './platform/secret.ts'
import { loadTelemetry } from './platform/telemetry/load-telemetry.ts'
import type { Vault } from './platform/vault/vault.ts'
import { presetRoutes } from './providers/preset-routes.ts'
import { proposalRoutes } from './providers/proposal-routes.ts'
import { providerRoutes } from './providers/provider-routes.ts'
import { createRefusals } from './proxy/refusals.ts'
import { sandboxRoutes } from './sandbox/sandbox-routes.ts'
import { openSandbox } from './sandbox/start-sandbox.ts'
import { browserLoginRoutes } from './sessions/browser-login-routes.ts'
import { issueLoginToken, loginUrl } from './sessions/issue-login-token.ts'
import { sessionRoutes } from './sessions/session-routes.ts'
import { userRoutes } from './sessions/user-routes.ts'
import { ownerHandle } from './sessions/user.ts'
import { createStores } from './stores.ts'
import { createToolIdentifier } from './tool-keys/identify.ts'
import { toolKeyRoutes } from './tool-keys/tool-key-routes.ts'
import { createSweep } from './sweep.ts'
import { limitStorage } from './unapproved-storage.ts'
import { readVersion } from './version.ts'

interface AppNeeds extends Pick<HealthNeeds, 'unknownSettings' | 'clockOffsetMs'>, CrewNeeds {
  config: Config
  database: Database
  vault: Vault
  egress: Egress
  adminToken: Secret
  clock: Clock
  log: Log
  /** Only for tests of versions side by side. */
  newestMigration?: number
  /** Metrics of all processes that share the port, if there are several. */
  figuresOfAll?: () => Promise<Figures[]>
}

export async function createApp(given: AppNeeds): Promise<App> {
  const { config, database, vault, egress, adminToken, clock, log, newestMigration = migrations.length } = given
  const metrics = createMetrics(given.figuresOfAll)
  measureDatabase(database, metrics)
  const telemetry = await loadTelemetry({ ...given, metrics, version: readVersion() })
  const stores = createStores(given)
  const needs = { config, database, egress, oauth: createOAuth({ egress }), clock, log, ...stores }
  const sweep = createSweep({ ...needs, metrics })
  const diskSpace = createDiskSpace(needs)
  const identifyTool = createToolIdentifier(needs)
  const listeners = createListeners(needs)
  const jobs = await createBackgroundJobs({ ...needs, vault, metrics })
  const { freshToken, revokeRemotely } = jobs
  const readiness = createReadiness({ ...needs, diskSpace, newestMigration })

  const http = await createHttp({ config, clock, log })
  measureResponses(http, metrics)
  telemetry?.traceRequests(http)
  guardDiskSpace(http, diskSpace)
  const reads = createReadBudget({ clock, rowsPerSecond: config.rowsReadPerSecond, isSelfRegistered: isAgentKey })
  authenticateCalls(http, { ...needs, adminToken, identifyTool })
  const knowingAgents = shedLoad(http, config)
  const budget = limitStorage(http, { ...needs, diskSpace })
  const refusals = createRefusals({ ...needs, budget })
  limitLists(http, reads)
  await describeRoutes(http, config.baseUrl)
  operationsRoutes(http, { ...given, metrics, readiness })
  agentGuideRoutes(http, config.baseUrl)
  agentRoutes(http, { ...needs, callsEnded: (at) => calls.endedSince(at) })
  toolKeyRoutes(http, needs)
  sessionRoutes(http, needs)
  browserLoginRoutes(http, needs)
  userRoutes(http, { ...needs, callsEnded: (at) => calls.endedSince(at) })
  deviceRoutes(http, { ...needs, vapidPublicKey: jobs.vapidPublicKey })
  pushTokenRoutes(http, needs)
  meRoutes(http, needs)
  providerRoutes(http, { ...needs, isConnected: stores.connections.isConnected })
  presetRoutes(http, needs)
  proposalRoutes(http, needs)
  connectRoutes(http, needs)
  deviceFlowRoutes(http, needs)
  connectionRoutes(http, { ...needs, freshToken, revokeRemotely, endGrants: endGrantsOf.bind(null, needs) })
  const deciding = { ...needs, openSandbox: openSandbox.bind(null, needs), onDecided: jobs.kickCallbacks }
  accessRequestRoutes(http, { ...deciding, onCreated: jobs.kickPushes })
  decisionRoutes(http, deciding)
  changeRoutes(http, deciding)
  mutedAgentRoutes(http, needs)
  agentNameRoutes(http, needs)
  grantRoutes(http, needs)
  pauseRoutes(http, needs)
  mailRoutes(http, needs)
  auditKeyRoutes(http, needs)
  auditRoutes(http, { ...needs, reads })
  callSeriesRoutes(http, { ...needs, reads })
  grantUseRoutes(http, { ...needs, reads })
  eventRoutes(http, listeners)
  healthRoutes(http, { ...given, ...needs, metrics, version: readVersion() })
  await sandboxRoutes(http, needs)
  await legacyV1Routes(http, needs)
  const calls = serveCalls(http, { ...needs, ...jobs, metrics, telemetry, refusals, budget, knowingAgents })
  const gateway = createGateway(http, { ...needs, ...calls, identifyTool, metrics, refusals })
  pageRoutes(http)
  http.addHook('preClose', sweep.stop)

  return {
    http,
    metrics,
    beginStop: readiness.beginStop,
    gateway,
    sweep: async () => {
      await Promise.all([sweep.run(), gateway.keep()])
    },
    catchUp: () => Promise.all([jobs.catchUp(), calls.due()]),
    heldCallsMade: calls.heldCallsMade,
    flushRefusals: () => refusals.flush(),
    settle: calls.settle,
    signRecord: async () => {
      for (const head of await stores.audit.signHeads()) log.info({ head: headText(head) }, 'audit chain head signed')
    },
    checkCallsInFlight: async () => {
      await Promise.all([calls.checkInFlight(), gateway.check()])
    },
    checkListeners: listeners.check,
    cutOffCalls: calls.cutOff,
    jobsEnded: jobs.ended,
    ownerLoginUrl: async (role = { isOperator: false }) =>
      loginUrl(config, (await issueLoginToken(needs, { handle: ownerHandle }, role)).loginToken),
  }
}
