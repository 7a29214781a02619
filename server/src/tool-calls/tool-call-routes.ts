/**
 * The doors for tools: base URLs, and requests in the gateway's tunnels. Each request is a call of the proxy's, and is
 * answered as the API itself would answer it.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { actingTool } from '../authenticate.ts'
import type { Config } from '../config/config.ts'
import { coversHost } from '../grants/grant.ts'
import { createActiveSet } from '../platform/active-set.ts'
import { ServiceError } from '../platform/errors.ts'
import type { ErrorFormat } from '../platform/http/error-formats.ts'
import { forwardedMethods, forwardedPath, headersOf } from '../platform/http/forwarded-requests.ts'
import type { Http } from '../platform/http/http.ts'
import { whenGone } from '../platform/http/prefer.ts'
import { forwardedBody } from '../platform/http/streamed-bodies.ts'
import { sendStream } from '../platform/http/streamed-replies.ts'
import { tunnelledOf, tunnelledRoute } from '../platform/http/tunnelled.ts'
import { isUpgradable, upgrade } from '../platform/http/upgrades.ts'
import { errorFormatAt } from '../providers/presets/tool-rules.ts'
import type { Patience } from '../proxy/admit.ts'
import type { HeaderNaming } from '../proxy/answer-headers.ts'
import { proxyCall, storedAnswer } from '../proxy/proxy-call.ts'
import { callerOf, flightHooks, forgetRequest } from '../proxy/proxy-routes.ts'
import type { ProxyRouteNeeds } from '../proxy/proxy-routes.ts'
import type { WebSocketAnswer } from '../proxy/websocket-answer.ts'
import type { Envelope } from '../proxy/whole-answer.ts'
import type { CallingTool } from '../tool-keys/tool-key.ts'
import { openEnvelope } from './stored-answer.ts'
import { aimOf } from './target.ts'
import { doorOf, readToolCall } from './tool-call.ts'
import type { ToolCall } from './tool-call.ts'

interface ToolCallNeeds extends ProxyRouteNeeds {
  config: ProxyRouteNeeds['config'] & Pick<Config, 'toolIdleSeconds' | 'toolHoldSeconds' | 'toolRateWaitSeconds'>
}

export function toolCallRoutes(http: Http, given: ToolCallNeeds): void {
  const webSockets = openWebSockets(http)
  const needs: AnswerNeeds = { ...given, webSockets }
  const ms = needs.config.toolRateWaitSeconds * 1000
  const patienceOf = (reply: FastifyReply): Patience => ({ ms, gone: whenGone(reply) })
  const route = {
    method: forwardedMethods,
    exposeHeadRoute: false,
    config: {
      allow: ['tool' as const],
      takesToolCredential: true,
      isForwarded: true,
      errorFormat,
      // What another server wrote never runs as a page of ours.
      contentSecurityPolicy: 'sandbox',
    },
    schema: { hide: true },
    ...flightHooks(
      needs,
      (request) => actingTool(request).agent,
      ({ raw }, reply) => ({ patience: patienceOf(reply), door: doorOf(tunnelledOf(raw)) }),
    ),
    handler: (request: FastifyRequest, reply: FastifyReply) => answer(needs, request, reply, patienceOf(reply)),
  }
  for (const url of [`${forwardedPath}:grant_id/:host`, `${forwardedPath}:grant_id/:host/*`])
    http.route({ ...route, url })
  http.route({
    ...route,
    url: tunnelledRoute,
    onRequest: async (request, reply) => {
      if (!tunnelledOf(request.raw)) throw new ServiceError('not_found')
      await route.onRequest(request, reply)
    },
  })
}

type AnswerNeeds = ToolCallNeeds & { webSockets: ReturnType<typeof openWebSockets> }

/** Other calls may finish when the service stops, but these have no end of their own. */
function openWebSockets(http: Http) {
  const open = createActiveSet<WebSocketAnswer>()
  let isStopping = false
  http.addHook('preClose', async () => {
    isStopping = true
    for (const one of open.all()) one.end()
  })
  return {
    open: async (reply: FastifyReply, answer: WebSocketAnswer): Promise<FastifyReply> => {
      const key = headersOf(reply.request.raw).get('sec-websocket-key') ?? ''
      const remove = open.add(answer)
      if (isStopping) answer.end()
      await upgrade(reply, answer.headers(key), answer.relay).finally(remove)
      return reply
    },
  }
}

function errorFormat({ originalUrl, raw }: FastifyRequest): ErrorFormat {
  const aim = aimOf(originalUrl, tunnelledOf(raw))
  return (aim && errorFormatAt(aim.hostname, aim.path)) ?? 'tool'
}

async function answer(
  needs: AnswerNeeds,
  request: FastifyRequest,
  reply: FastifyReply,
  patience: Patience,
): Promise<FastifyReply> {
  const { raw, originalUrl } = request
  const { config } = needs
  const tool = actingTool(request)
  const upload = forwardedBody(request, config.toolIdleSeconds * 1000)
  const tunnelled = tunnelledOf(raw)
  const isHandshake = isUpgradable(raw)
  const asked = { method: request.method, target: originalUrl, headers: headersOf(raw), upload, isHandshake, tunnelled }
  const call = await readToolCall(needs, tool, asked, request.id)
  const naming = tunnelled ? forTunnel : await forBaseUrl(needs, tool, call)
  const caller = callerOf(request, reply)
  const answered = await proxyCall(needs, tool, call, { ...caller, naming, patience })
  if (answered.kind === 'streamed') return sendStream(reply, answered)
  if (answered.kind === 'websocket') return needs.webSockets.open(reply, answered)
  if (answered.kind === 'whole') return sendStored(reply, answered, naming, call)
  forgetRequest(request)
  const { agentId } = tool.agent
  const seconds = wantedWait(asked.headers) ?? config.toolHoldSeconds
  await needs.heldCalls.wait(agentId, answered.callId, seconds, patience.gone)
  await request.assertStillAdmitted()
  const held = await needs.heldCalls.collect(agentId, answered.callId)
  if (held.kind === 'held') throw stillHeld(needs.approvalUrl(held.callId), held.callId)
  return sendStored(reply, storedAnswer(needs, agentId, held.envelope, caller), naming, call)
}

/** How long the tool wants a call to be kept open for a person: `Prefer` would be the API's. At most five minutes. */
function wantedWait(headers: ReadonlyMap<string, string>): number | undefined {
  const [seconds] = /^\d{1,6}$/.exec(headers.get('x-sallyport-wait') ?? '') ?? []
  return seconds === undefined ? undefined : Math.min(Number(seconds), 300)
}

const forTunnel: HeaderNaming = { for: 'tunnel' }

async function forBaseUrl(
  { config, database, standings, routeOf }: ToolCallNeeds,
  { agent }: CallingTool,
  { grantId }: ToolCall,
): Promise<HeaderNaming> {
  const standing = await standings.find(database.queries, agent.agentId, grantId)
  const isReached = (host: string) =>
    standing?.connection && (coversHost(standing.grant, host) || routeOf(standing).openAt?.(host))
  return {
    for: 'base_url',
    addressOf: ({ protocol, host, pathname, search, hash }) =>
      protocol === 'https:' && isReached(host)
        ? `${config.baseUrl.origin}${forwardedPath}${grantId}/${host}${pathname}${search}${hash}`
        : undefined,
  }
}

/** Most tools try again soon, and get the answer then. */
const retryAfterSeconds = 10

function stillHeld(approvalUrl: string, callId: string): ServiceError {
  return new ServiceError('approval_pending', {
    retryAfterSeconds,
    message: `This call waits for a person to approve it at ${approvalUrl}. Repeat it unchanged afterwards.`,
    extra: { approval_url: approvalUrl, call_id: callId },
  })
}

function sendStored(
  reply: FastifyReply,
  { envelope }: { envelope: Envelope },
  naming: HeaderNaming,
  { url }: ToolCall,
): Promise<FastifyReply> {
  const { status, headers, body } = openEnvelope(envelope, naming, new URL(url))
  return sendStream(reply, {
    ...{ status, headers, body, statusText: '' },
    trailers: () => [],
    signal: new AbortController().signal,
    giveUp: () => undefined,
  })
}
