import { agentKey, isAgentKey } from './agents/agent.ts'
import type { Config } from './config/config.ts'
import type { Http } from './platform/http/http.ts'
import { createLoadShedding } from './platform/limits/load-shedding.ts'
import type { OnOutcome } from './proxy/flight.ts'

type SheddingConfig = Pick<Config, 'unapprovedRequestsPerSecond' | 'proxyRatePerAgent' | 'proxyBurstPerAgent'>

/**
 * Refuses requests while the service is busy. People are never refused, nor are calls that take access away, and the
 * legacy protocol has limits of its own. Register it after authentication. An agent is known once the returned function
 * has seen an answer to one of its approved calls.
 */
export function shedLoad(http: Http, config: SheddingConfig) {
  const perSecond = config.unapprovedRequestsPerSecond
  const { assertRoom, know } = createLoadShedding({
    strangers: { perSecond, burst: 5 * perSecond },
    known: { perSecond: config.proxyRatePerAgent, burst: config.proxyBurstPerAgent },
  })
  http.addHook('onRequest', ({ callerKey, routeOptions: { url = '', config } }, _reply, done) => {
    const isPerson = callerKey !== undefined && !isAgentKey(callerKey)
    if (url.startsWith('/v4/') && !isPerson && config.worksOnFullDisk !== true) assertRoom(callerKey)
    done()
  })
  return <Calls extends { onOutcome: OnOutcome }>(calls: Calls): Calls => ({
    ...calls,
    onOutcome: (outcome, standing, seen) => {
      calls.onOutcome(outcome, standing, seen)
      if (seen && standing?.grant.kind === 'connection') know(agentKey(standing.grant.agentId))
    },
  })
}
