/** The real pipeline of a proxied call, with an upstream and a credential of the test's own at its end. */
import { agentStore } from '../src/agents/agent-store.ts'
import { createAuditStore } from '../src/audit/audit-store.ts'
import { createCallsInFlight } from '../src/grants/calls-in-flight.ts'
import type { CallsInFlight } from '../src/grants/calls-in-flight.ts'
import { grantStore } from '../src/grants/grant-store.ts'
import { createLog } from '../src/platform/log.ts'
import { Secret } from '../src/platform/secret.ts'
import { proxyCall } from '../src/proxy/proxy-call.ts'
import type { Outcome, ProxyAnswer, ProxyInput, ProxyNeeds } from '../src/proxy/proxy-call.ts'
import { createRefusals } from '../src/proxy/refusals.ts'
import type { HeaderList, Route, UpstreamRequest } from '../src/proxy/upstream.ts'
import { agentInSandbox } from './sandbox.ts'
import type { TestService } from './service.ts'

/** What the pipeline injects here. */
export const upstreamToken = 'ya29.A0-upstream-token-AbCdEf'

export interface TestProxy {
  agentId: string
  token: string
  grantId: string
  /** What has reached the upstream. */
  received: UpstreamRequest[]
  outcomes: Outcome[]
  callsInFlight: CallsInFlight
  call: (input?: Partial<ProxyInput>) => Promise<ProxyAnswer>
}

export async function proxyTo(
  service: TestService,
  route: Partial<Route> = {},
  needs: Partial<ProxyNeeds> = {},
): Promise<TestProxy> {
  const { agentId, token, grantId, echoUrl } = await agentInSandbox(service)
  const agent = await agentStore.find(service.database.queries, agentId)
  if (!agent) throw new Error('the agent is not there')
  const { upstream = () => Promise.resolve(textResponse('ok')), ...others } = route
  const received: UpstreamRequest[] = []
  const outcomes: Outcome[] = []
  const audit = createAuditStore({ ...service, clock: service.clock.now })
  const pipeline: ProxyNeeds = {
    ...service,
    clock: service.clock.now,
    agents: agentStore,
    grants: grantStore,
    audit,
    callsInFlight: createCallsInFlight({ ...service, grants: grantStore, clock: service.clock.now }),
    refusals: createRefusals({ ...service, audit, clock: service.clock.now }),
    routeOf: () => ({
      upstream: (request) => {
        received.push(request)
        return upstream(request)
      },
      credential: () =>
        Promise.resolve({
          header: { name: 'authorization', value: new Secret(`Bearer ${upstreamToken}`) },
          secrets: [new Secret(upstreamToken)],
        }),
      injects: 'authorization',
      plainOrigin: service.config.baseUrl.origin,
      ...others,
    }),
    onOutcome: (outcome) => outcomes.push(outcome),
    log: createLog(service.config, { write: (line) => service.log.push(line) }),
    ...needs,
  }
  const call = (input: Partial<ProxyInput> = {}) =>
    proxyCall(
      pipeline,
      agent,
      { grantId, method: 'GET', url: echoUrl, headers: {}, body: undefined, ...input },
      'req_test',
    )
  return { agentId, token, grantId, received, outcomes, callsInFlight: pipeline.callsInFlight, call }
}

export function textResponse(text: string, headers: HeaderList = [['content-type', 'text/plain']]) {
  return { status: 200, headers, body: ReadableStream.from([Buffer.from(text)]) }
}
