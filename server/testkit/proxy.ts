/** The real pipeline of a proxied call, with the test's own upstream and credential. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { agentStore } from '../src/agents/agent-store.ts'
import type { AuditLog } from '../src/audit/audit-log.ts'
import { createCallsInFlight } from '../src/grants/calls-in-flight.ts'
import type { CallsInFlight } from '../src/grants/calls-in-flight.ts'
import { createLog } from '../src/platform/operations/log.ts'
import { hashToken } from '../src/platform/tokens.ts'
import { Secret } from '../src/platform/secret.ts'
import type { ProxyInput } from '../src/proxy/call.ts'
import type { Outcome } from '../src/proxy/flight.ts'
import { bearerInjection } from '../src/providers/provider.ts'
import { headerInjects, inHeader } from '../src/proxy/credential-kinds/header.ts'
import { createUnsentAnswers } from '../src/proxy/unsent-answers.ts'
import { createCallLog } from '../src/call-log/call-log.ts'
import type { CallLog, CallLogNeeds } from '../src/call-log/call-log.ts'
import { proxyCall } from '../src/proxy/proxy-call.ts'
import type { Caller, ProxyNeeds, ProxyReply } from '../src/proxy/proxy-call.ts'
import { createRecordBudget } from '../src/proxy/record-budget.ts'
import { createRefusals } from '../src/proxy/refusals.ts'
import type { HeaderList, Route, Upstream, UpstreamRequest } from '../src/proxy/upstream.ts'
import { toBuffer } from '../src/proxy/whole-answer.ts'
import { compileSecrets } from '../src/redaction/secret-forms.ts'
import { createStores } from '../src/stores.ts'
import { agentInSandbox } from './sandbox.ts'
import type { TestService } from './service.ts'

/** The credential that the pipeline injects. */
export const upstreamToken = 'ya29.A0-upstream-token-AbCdEf'

export interface TestResponse {
  status: number
  headers: HeaderList
  body: AsyncIterable<Uint8Array>
}

/** The response envelope. */
export interface TestAnswer {
  status: number
  headers: Record<string, string | string[]>
  body: unknown
  bodyEncoding: string
  redactions: number
  droppedHeaders: string[]
  auditId: string
}

export interface TestProxy {
  agentId: string
  token: string
  grantId: string
  /** The requests that reached the upstream. */
  received: UpstreamRequest[]
  outcomes: Outcome[]
  callsInFlight: CallsInFlight
  callLog: CallLog
  /** Resolves once the outcome is recorded too. */
  call: (input?: Partial<ProxyInput>, caller?: Partial<Caller>) => Promise<TestAnswer>
  /** The same, as it would be passed on. */
  reply: (input?: Partial<ProxyInput>, caller?: Partial<Caller>) => Promise<ProxyReply>
}

type TestRoute = Partial<Omit<Route, 'upstream'>> & {
  upstream?: (request: UpstreamRequest) => Promise<TestResponse>
}

function neverAsks(): never {
  throw new Error('a call of the sandbox waits for nobody')
}

export async function proxyTo(
  service: TestService,
  { upstream = () => Promise.resolve(textResponse('ok')), ...route }: TestRoute = {},
  needs: Partial<ProxyNeeds & Omit<CallLogNeeds, 'audit'> & { audit: AuditLog }> = {},
): Promise<TestProxy> {
  const { agentId, token, grantId, echoUrl } = await agentInSandbox(service)
  const agent = await agentStore.find(service.database.queries, agentId)
  if (!agent) throw new Error('the agent is not there')
  const received: UpstreamRequest[] = []
  const outcomes: Outcome[] = []
  const common = {
    ...service,
    ...createStores({ ...service, clock: service.clock.now }),
    clock: service.clock.now,
    log: createLog(service.config, { write: (line) => service.log.push(line) }),
    ...needs,
  }
  const callLog = createCallLog(common)
  const budget = createRecordBudget({ ...common, diskSpace: () => 'ok', config: service.config })
  const pipeline: ProxyNeeds = {
    ...common,
    callLog,
    callsInFlight: createCallsInFlight({ ...common, findCurrentKeys: () => Promise.resolve(new Set()) }),
    unsentAnswers: createUnsentAnswers(service.config),
    refusals: createRefusals({ ...common, budget, config: service.config }),
    budget,
    // The sandbox never asks.
    heldCalls: { hold: neverAsks, resultOf: neverAsks, collect: neverAsks, wait: neverAsks },
    routeOf: () => ({
      upstream: answering((request) => {
        received.push(request)
        return upstream(request)
      }),
      rules: undefined,
      injects: headerInjects(bearerInjection),
      credential: () =>
        Promise.resolve({
          apply: inHeader(bearerInjection, new Secret(upstreamToken)),
          forms: compileSecrets([new Secret(upstreamToken)]),
          wasAwaited: false,
        }),
      plainOrigin: service.config.baseUrl.origin,
      ...route,
    }),
    onOutcome: (outcome) => outcomes.push(outcome),
    ...needs,
  }
  const reply: TestProxy['reply'] = (input = {}, caller = {}) =>
    proxyCall(
      pipeline,
      { agent, tokenHash: hashToken(new Secret(token)), address: undefined },
      {
        grantId,
        method: 'GET',
        url: echoUrl,
        headers: {},
        body: undefined,
        bodyBase64: undefined,
        timeoutMs: undefined,
        followRedirects: false,
        stream: false,
        ...input,
      },
      {
        requestId: 'req_test',
        idempotencyKey: undefined,
        onClosed: () => undefined,
        naming: { for: 'caller', isPrefixed: true, ownHosts: [] },
        times: { startedAt: 0 },
        ...caller,
      },
    )
  return {
    agentId,
    token,
    grantId,
    received,
    outcomes,
    callsInFlight: pipeline.callsInFlight,
    callLog,
    reply,
    call: async (input, caller) => {
      const [reached] = await Promise.allSettled([reply(input, caller)])
      // Its outcome comes once it is on its way.
      await nextTurn()
      await callLog.flush()
      if (reached.status === 'rejected') throw reached.reason
      const answer = reached.value
      if (answer.kind !== 'whole') throw new Error(`the answer is ${answer.kind}`)
      return opened(toBuffer(answer.envelope))
    },
  }
}

export function textResponse(
  text: string | Buffer,
  headers: HeaderList = [['content-type', 'text/plain']],
): TestResponse {
  return { status: 200, headers, body: ReadableStream.from([Buffer.from(text)]) }
}

function answering(answer: (request: UpstreamRequest) => Promise<TestResponse>): Upstream {
  return {
    whole: async (request) => {
      const { body, ...head } = await answer(request)
      const chunks: Uint8Array[] = []
      for await (const chunk of body) chunks.push(chunk)
      return { ...head, statusText: 'OK', body: Buffer.concat(chunks), trailers: [] }
    },
    streamed: async (request) => ({ ...(await answer(request)), statusText: 'OK', trailers: () => [] }),
  }
}

function opened(envelope: Buffer): TestAnswer {
  const { body_encoding, dropped_headers, audit_id, ...rest } = JSON.parse(envelope.toString()) as Record<string, any>
  return {
    ...(rest as Pick<TestAnswer, 'status' | 'headers' | 'body' | 'redactions'>),
    bodyEncoding: body_encoding,
    droppedHeaders: dropped_headers,
    auditId: audit_id,
  }
}
