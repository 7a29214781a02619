/** The wiring, top to bottom: which parts there are and what each is given. It never listens. */
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import { agentRoutes } from './agents/agent-routes.ts'
import { agentStore } from './agents/agent-store.ts'
import { auditStore } from './audit/audit-store.ts'
import { authenticateCalls } from './authenticate.ts'
import { connectRoutes } from './connections/connect-routes.ts'
import { createConnectFlowStore } from './connections/connect-flow-store.ts'
import { connectionRoutes } from './connections/connection-routes.ts'
import { createConnectionStore } from './connections/connection-store.ts'
import { deviceFlowRoutes } from './connections/device-flow-routes.ts'
import { createDeviceFlowStore } from './connections/device-flow-store.ts'
import { createFormerTokenStore } from './connections/former-token-store.ts'
import { createFreshToken } from './connections/fresh-token.ts'
import { createRefreshStore } from './connections/refresh-store.ts'
import { createRevocationStore } from './connections/revocation-store.ts'
import { createRevokeRemotely } from './connections/revoke-remotely.ts'
import { settleRefreshes } from './connections/settle-refreshes.ts'
import { createCallsInFlight } from './grants/calls-in-flight.ts'
import { grantRoutes } from './grants/grant-routes.ts'
import { grantStore } from './grants/grant-store.ts'
import type { Clock } from './platform/clock.ts'
import type { Config } from './platform/config.ts'
import type { Database } from './platform/database/database.ts'
import type { Egress } from './platform/egress/egress.ts'
import { createHttp } from './platform/http/http.ts'
import type { Http } from './platform/http/http.ts'
import { describeRoutes } from './platform/http/openapi.ts'
import { operationsRoutes } from './platform/http/operations-routes.ts'
import type { Log } from './platform/log.ts'
import { createMetrics, measureResponses } from './platform/metrics.ts'
import type { Metrics } from './platform/metrics.ts'
import { createOAuth } from './platform/oauth/oauth.ts'
import type { Secret } from './platform/secret.ts'
import type { Vault } from './platform/vault/vault.ts'
import { presetRoutes } from './providers/preset-routes.ts'
import { proposalRoutes } from './providers/proposal-routes.ts'
import { providerRoutes } from './providers/provider-routes.ts'
import { createProviderStore } from './providers/provider-store.ts'
import { connectionRoute } from './proxy/connection-route.ts'
import { proxyRoutes } from './proxy/proxy-routes.ts'
import { createRefusals } from './proxy/refusals.ts'
import { sandboxRoute } from './sandbox/sandbox-route.ts'
import { sandboxRoutes } from './sandbox/sandbox-routes.ts'
import { createSandboxStore } from './sandbox/sandbox-store.ts'
import { browserLoginRoutes } from './sessions/browser-login-routes.ts'
import { identityStore } from './sessions/identity-store.ts'
import { issueLoginToken, loginUrl } from './sessions/issue-login-token.ts'
import { createLoginFlowStore } from './sessions/login-flow-store.ts'
import { loginTokenStore } from './sessions/login-token-store.ts'
import { sessionRoutes } from './sessions/session-routes.ts'
import { sessionStore } from './sessions/session-store.ts'
import { userRoutes } from './sessions/user-routes.ts'
import { ownerHandle } from './sessions/user.ts'
import { userStore } from './sessions/user-store.ts'
import { sweep } from './sweep.ts'

interface AppNeeds {
  config: Config
  database: Database
  vault: Vault
  egress: Egress
  adminToken: Secret
  clock: Clock
  log: Log
}

export interface App {
  http: Http
  metrics: Metrics
  /** From now on the service says that it is not ready. */
  beginStop: () => void
  /** Periodic work; the caller says when. */
  sweep: () => Promise<void>
  /** What providers still have to be asked, of connections that ended or were left in the middle of a refresh. */
  catchUp: () => Promise<void>
  flushRefusals: () => Promise<void>
  /** Ends calls under way whose grants have ended; nothing to do while there are none. */
  checkCallsInFlight: () => Promise<void>
  /** Resolves once no refresh is under way; from now on none begins. */
  refreshesEnded: () => Promise<void>
  /** A link that signs in the local owner, once. */
  ownerLoginUrl: () => Promise<Secret>
}

export async function createApp(given: AppNeeds): Promise<App> {
  const { config, database, vault, egress, adminToken, clock, log } = given
  const stores = {
    agents: agentStore,
    users: userStore,
    sessions: sessionStore,
    loginTokens: loginTokenStore,
    loginFlows: createLoginFlowStore(vault),
    identities: identityStore,
    providers: createProviderStore(vault),
    connections: createConnectionStore(vault),
    refreshes: createRefreshStore(vault),
    revocations: createRevocationStore(vault),
    formerTokens: createFormerTokenStore(vault),
    connectFlows: createConnectFlowStore(vault),
    deviceFlows: createDeviceFlowStore(vault),
    grants: grantStore,
    sandboxes: createSandboxStore(vault),
    audit: auditStore,
  }
  const needs = { config, database, egress, oauth: createOAuth({ egress }), clock, log, ...stores }
  const refusals = createRefusals(needs)
  const callsInFlight = createCallsInFlight(needs)
  const { freshToken, refreshesEnded } = createFreshToken(needs)
  const revokeRemotely = createRevokeRemotely(needs)
  const metrics = createMetrics()
  const proxyCalls = metrics.counter('sallyport_proxy_calls_total', 'Proxied calls by outcome', ['outcome'])
  let isStopping = false

  const http = await createHttp({ config, clock, log })
  measureResponses(http, metrics)
  authenticateCalls(http, { ...needs, adminToken })
  await describeRoutes(http, config.baseUrl)
  operationsRoutes(http, { config, database, metrics, isStopping: () => isStopping })
  agentRoutes(http, needs)
  sessionRoutes(http, needs)
  browserLoginRoutes(http, needs)
  userRoutes(http, needs)
  providerRoutes(http, { ...needs, isConnected: stores.connections.isConnected })
  presetRoutes(http, needs)
  proposalRoutes(http, {
    ...needs,
    isAgentLive: async (queries, agentId) => (await stores.agents.find(queries, agentId))?.disabledAt === null,
  })
  connectRoutes(http, needs)
  deviceFlowRoutes(http, needs)
  connectionRoutes(http, { ...needs, freshToken, revokeRemotely })
  grantRoutes(http, needs)
  await sandboxRoutes(http, needs)
  proxyRoutes(http, {
    ...needs,
    refusals,
    callsInFlight,
    routeOf: (grant) => (grant.kind === 'sandbox' ? sandboxRoute(needs, grant) : connectionRoute),
    onOutcome: (outcome) => {
      proxyCalls.inc({ outcome })
    },
  })
  const pages = fileURLToPath(new URL('../pages', import.meta.url))
  // A route for each file, instead of one that would answer for every path there is not.
  await http.register(fastifyStatic, { root: pages, wildcard: false, cacheControl: false })

  return {
    http,
    metrics,
    beginStop: () => {
      isStopping = true
    },
    sweep: () => sweep(needs),
    catchUp: async () => {
      await revokeRemotely.due()
      await settleRefreshes(needs, freshToken)
    },
    flushRefusals: () => refusals.flush(),
    checkCallsInFlight: callsInFlight.check,
    refreshesEnded,
    ownerLoginUrl: async () => {
      const { loginToken } = await issueLoginToken(needs, { handle: ownerHandle }, {})
      return loginUrl(config, loginToken)
    },
  }
}
