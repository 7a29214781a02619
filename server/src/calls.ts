/** Joins what makes calls: the proxy, and calls that wait for a person. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createCallLog } from './call-log/call-log.ts'
import { chooseRoute } from './choose-route.ts'
import type { Config } from './config/config.ts'
import type { FreshTokenOf } from './connections/fresh-token.ts'
import { createCallsInFlight } from './grants/calls-in-flight.ts'
import { holdCalls, serveHeldCalls } from './held-calls/held-calls.ts'
import type { shedLoad } from './load-shedding.ts'
import type { Clock } from './platform/clock.ts'
import type { Database } from './platform/database/database.ts'
import type { Egress } from './platform/egress/egress.ts'
import type { Http } from './platform/http/http.ts'
import type { Log } from './platform/operations/log.ts'
import type { Metrics } from './platform/operations/metrics.ts'
import type { Tracer } from './platform/http/request-spans.ts'
import { credentialsFor } from './proxy/credentials.ts'
import { CallAborted } from './proxy/flight.ts'
import { createAgentLoad } from './proxy/load.ts'
import { measureCalls, measureCallLog } from './proxy/proxy-metrics.ts'
import { traceCallLog, traceRoutes } from './proxy/trace-calls.ts'
import { proxyRoutes } from './proxy/proxy-routes.ts'
import type { RecordBudget } from './proxy/record-budget.ts'
import type { Refusals } from './proxy/refusals.ts'
import { createUnsentAnswers } from './proxy/unsent-answers.ts'
import type { Stores } from './stores.ts'
import { toolCallRoutes } from './tool-calls/tool-call-routes.ts'

/** Four times as long as between two checks of calls in flight (main.ts). */
const checkedWithinMs = 2_000

interface CallNeeds extends Stores {
  config: Config
  database: Database
  egress: Egress
  clock: Clock
  log: Log
  metrics: Metrics
  /** Where telemetry is exported. */
  telemetry: Tracer | undefined
  freshToken: FreshTokenOf
  refusals: Refusals
  budget: RecordBudget
  kickPushes: () => void
  knowingAgents: ReturnType<typeof shedLoad>
}

export function serveCalls(http: Http, needs: CallNeeds) {
  const { config, metrics, telemetry, knowingAgents } = needs
  const load = createAgentLoad(config.proxyInFlightPerAgent)
  const callsInFlight = createCallsInFlight({ ...needs, findCurrentKeys: needs.toolKeys.findCurrent })
  const measured = measureCallLog(createCallLog(needs), metrics)
  const callLog = telemetry ? traceCallLog(telemetry, measured) : measured
  const chosen = chooseRoute({ ...needs, credentialOf: credentialsFor(needs) })
  const calling = {
    ...{ ...needs, ...holdCalls(needs), callLog, callsInFlight, load },
    unsentAnswers: createUnsentAnswers(config),
    routeOf: telemetry ? traceRoutes(telemetry, chosen, config.traceparentProviders) : chosen,
    ...knowingAgents(measureCalls(metrics, load)),
  }
  proxyRoutes(http, calling)
  toolCallRoutes(http, calling)
  const heldCalls = serveHeldCalls(http, calling)
  return {
    routeOf: calling.routeOf,
    due: heldCalls.due,
    heldCallsMade: heldCalls.made,
    settle: callLog.flush,
    checkInFlight: callsInFlight.check,
    /**
     * After a disabling, before it is undone: the calls that it ends must not go on. By then each process has checked its
     * calls in flight.
     */
    endedSince: async (disabledAt: Date) => {
      await sleep(
        Math.min(Math.max(disabledAt.getTime() + checkedWithinMs - needs.clock().getTime(), 0), checkedWithinMs),
      )
      await callsInFlight.check()
      await heldCalls.due()
    },
    cutOff: () => callsInFlight.endAll(new CallAborted('service_stopped')).then(callLog.flush),
  }
}
