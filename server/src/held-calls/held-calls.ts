/** Calls that wait for a person: joins the parts of this room. */
import type { Http } from '../platform/http/http.ts'
import type { Metrics } from '../platform/operations/metrics.ts'
import type { Holding } from '../proxy/holding.ts'
import { createAgentLoad } from '../proxy/load.ts'
import { callDecisionRoutes } from './call-decision-routes.ts'
import type { CallDecisionRouteNeeds } from './call-decision-routes.ts'
import { approvalUrl } from './held-call.ts'
import { heldCallRoutes } from './held-call-routes.ts'
import { measureHeldCalls } from './held-metrics.ts'
import type { HeldMetrics } from './held-metrics.ts'
import { holdCall } from './hold.ts'
import type { HoldNeeds } from './hold.ts'
import { collectMs } from './notify.ts'
import { repeatRoutes } from './repeat-routes.ts'
import { collectResult, resultOf } from './result.ts'
import { createRunner } from './run.ts'
import type { RunNeeds } from './run.ts'
import { settleHeldCalls } from './settle.ts'
import { createWaiting } from './waiting.ts'
import type { Waiting } from './waiting.ts'

/** Clients of one agent that wait at a time, in each process. Further ones are answered at once. */
const waitsPerAgent = 100

type HoldingNeeds = Omit<HoldNeeds, 'heldMetrics' | 'onHeld'> &
  Pick<RunNeeds, 'log'> & { metrics: Metrics; kickPushes: () => void }

/** What the proxy needs of this room, and what the rest of the room has in common with it. */
export function holdCalls(given: HoldingNeeds) {
  const heldMetrics = measureHeldCalls(given)
  const waiting = createWaiting(given)
  const waits = createAgentLoad(waitsPerAgent)
  const onHeld = () => setTimeout(given.kickPushes, collectMs + 100).unref()
  const needs = { ...given, heldMetrics, onHeld }
  const heldCalls: Holding = {
    hold: (call, asked) => holdCall(needs, call, asked),
    resultOf: (agentId, callId) => resultOf(needs, agentId, callId),
    collect: (agentId, callId) => collectResult(needs, agentId, callId),
    wait: async (agentId, callId, seconds, gone) => {
      const leave = waits.tryEnter(agentId)
      if (!leave) return
      await waiting.untilEnded(callId, seconds * 1000, gone)
      leave()
    },
  }
  return {
    heldCalls,
    heldMetrics,
    waiting,
    approvalUrl: (callId: string) => approvalUrl(given.config.baseUrl, callId),
  }
}

type ServeNeeds = Omit<CallDecisionRouteNeeds, 'runner'> & RunNeeds & { waiting: Waiting; heldMetrics: HeldMetrics }

/** The routes, and the jobs of this process. */
export function serveHeldCalls(http: Http, given: ServeNeeds) {
  const runner = createRunner(given)
  const needs = { ...given, runner }
  heldCallRoutes(http, needs)
  callDecisionRoutes(http, needs)
  repeatRoutes(http, needs)
  http.addHook('preClose', (done) => {
    given.waiting.stop()
    done()
  })
  return {
    /** Starts and settles what is due. */
    due: async (): Promise<void> => {
      await runner.due()
      await settleHeldCalls(given)
    },
    made: runner.ended,
  }
}
