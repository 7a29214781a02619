import { Readable } from 'node:stream'
import { HeldReply } from '@sallyport/protocol/calls'
import { DryRunReply, ProxyBody, ProxyReply } from '@sallyport/protocol/proxy'
import { streamedCallType } from '@sallyport/protocol/streamed-call'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Agent } from '../agents/agent.ts'
import { actingAgent } from '../authenticate.ts'
import type { Config } from '../config/config.ts'
import { cutShort } from '../platform/http/error-replies.ts'
import type { Http } from '../platform/http/http.ts'
import { applyWait, preferredWait, whenGone } from '../platform/http/prefer.ts'
import { readStreamedBodies } from '../platform/http/streamed-bodies.ts'
import { onceClosed, sendStream } from '../platform/http/streamed-replies.ts'
import type { StreamedReply } from '../platform/http/streamed-replies.ts'
import { enter } from './admit.ts'
import type { EnterNeeds } from './admit.ts'
import type { HeaderNaming } from './answer-headers.ts'
import type { ProxyInput } from './call.ts'
import { dryRun } from './dry-run.ts'
import { readIdempotencyKey } from './idempotency.ts'
import type { Held } from './holding.ts'
import { proxyCall, storedAnswer } from './proxy-call.ts'
import type { Caller, ProxyNeeds, ProxyReply as Answer } from './proxy-call.ts'
import type { CallMetrics, CallTimes } from './proxy-metrics.ts'
import { uploadOf } from './upload.ts'
import type { Upload } from './upload.ts'

declare module 'fastify' {
  interface FastifyRequest {
    callTimes?: CallTimes
    /** Frees the place in flight before the answer is sent. */
    leaveFlight?: () => void
    /** The call waits for a person, and perhaps its client with it: that is not how long a call takes. */
    isHeld?: boolean
  }
}

export interface ProxyRouteNeeds extends ProxyNeeds, EnterNeeds {
  onSent: CallMetrics['onSent']
  /** The page where a person decides on a held call. */
  approvalUrl: (callId: string) => string
  config: ProxyNeeds['config'] & Pick<Config, 'proxyBodyBytes' | 'baseUrl'>
}

export function proxyRoutes(http: Http, needs: ProxyRouteNeeds): void {
  readStreamedBodies(http, streamedCallType, needs.config.proxyIdleSeconds * 1000)
  http.post(
    '/v4/proxy',
    {
      config: { allow: ['agent'], streamedType: streamedCallType },
      bodyLimit: needs.config.proxyBodyBytes,
      ...flightHooks(needs, (request) => actingAgent(request).agent),
      schema: {
        tags: ['Proxy'],
        summary: "Call an API with the user's credential, which the service adds and redacts from the response",
        description:
          'Tools that know nothing of this service call `/v4/proxy/{grant_id}/{host}/{path}` instead, with any method, headers and body and ' +
          'with a key from `POST /v4/agents/keys` as bearer token, Basic password or `x-api-key`. They are answered as by the API itself. Errors ' +
          'have `message` beside `error`, and their code in `x-sallyport-error`.',
        body: ProxyBody,
        response: {
          200: Type.Union([ProxyReply, DryRunReply], {
            description: 'The redacted response; for a dry run, whether the call would be allowed.',
          }),
          202: HeldReply,
        },
      },
    },
    async (request, reply) => {
      const agent = actingAgent(request)
      const idempotencyKey = readIdempotencyKey(request.headers['idempotency-key'])
      const input = toInput(request.body, uploadOf(request.body, request.streamedBody, idempotencyKey))
      if (request.body.dry_run) return dryRun(needs, agent, input, request.id)
      const naming = namingFor(request, needs.config.baseUrl)
      const answer = await proxyCall(needs, agent, input, { ...callerOf(request, reply), idempotencyKey, naming })
      if (answer.kind === 'held') {
        forgetRequest(request)
        return answerHeld(needs, request, reply, answer)
      }
      if (answer.kind === 'streamed') return sendStream(reply, shownTo(request, answer))
      if (answer.kind === 'websocket') throw new Error('only tools open WebSockets')
      return sendWhole(request, reply, answer)
    },
  )
}

/** Of every route that makes calls: they take one of the agent's places in flight, and are timed. */
export function flightHooks(
  needs: EnterNeeds & Pick<ProxyRouteNeeds, 'onSent'>,
  agentOf: (request: FastifyRequest) => Agent,
  howOf: (request: FastifyRequest, reply: FastifyReply) => Parameters<typeof enter>[3] = () => ({}),
) {
  return {
    onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
      const leave = await enter(needs, agentOf(request), request.id, howOf(request, reply))
      request.leaveFlight = leave
      onceClosed(reply.raw, leave)
    },
    onResponse: (request: FastifyRequest, { elapsedTime }: FastifyReply, done: () => void) => {
      if (!request.isHeld) needs.onSent(elapsedTime, request.callTimes)
      done()
    },
  }
}

/** What a call has to know of the request that it came with. */
export function callerOf(request: FastifyRequest, reply: FastifyReply): Omit<Caller, 'naming'> {
  return {
    requestId: request.id,
    loggedIds: request.loggedIds,
    idempotencyKey: undefined,
    onClosed: (then) => {
      onceClosed(reply.raw, () => {
        then(reply.raw.writableFinished)
      })
    },
    times: (request.callTimes = { startedAt: performance.now() - reply.elapsedTime }),
  }
}

function sendWhole(
  request: FastifyRequest,
  reply: FastifyReply,
  { envelope }: Extract<Answer, { kind: 'whole' }>,
): FastifyReply {
  // Already JSON: the schema is for the documentation and does not serialize it.
  const plain: FastifyReply = reply.type('application/json; charset=utf-8')
  if (request.isBodyCutShort) {
    const pieces = typeof envelope === 'string' ? [Buffer.from(envelope)] : envelope.pieces()
    return plain.send(cutShort(request, reply, pieces))
  }
  if (typeof envelope === 'string') return plain.send(Buffer.from(envelope))
  return plain.header('content-length', envelope.bytes).send(Readable.from(envelope.pieces()))
}

/** While a call waits for a person, it takes no place in flight, and its body no memory. */
export function forgetRequest(request: FastifyRequest): void {
  request.isHeld = true
  request.leaveFlight?.()
  request.heldBody?.release()
  request.body = undefined
}

/** Either at once, or after the time that the client prefers to wait; then with the response, if there is one. */
async function answerHeld(
  needs: ProxyRouteNeeds,
  request: FastifyRequest,
  reply: FastifyReply,
  first: Extract<Held, { kind: 'held' }>,
): Promise<FastifyReply> {
  const { agentId } = actingAgent(request).agent
  const seconds = preferredWait(request)
  let held: Held = first
  if (seconds !== undefined) {
    applyWait(reply, seconds)
    await needs.heldCalls.wait(agentId, first.callId, seconds, whenGone(reply))
    await request.assertStillAdmitted()
    held = await needs.heldCalls.resultOf(agentId, first.callId)
  }
  if (held.kind === 'stored') {
    return sendWhole(request, reply, storedAnswer(needs, agentId, held.envelope, callerOf(request, reply)))
  }
  const { callId, expiresAt } = held
  return reply
    .code(202)
    .header('location', `/v4/calls/${callId}`)
    .send({
      status: 'waiting',
      call_id: callId,
      approval_url: needs.approvalUrl(callId),
      expires_at: expiresAt.toISOString(),
    } satisfies HeldReply)
}

/** Browsers send one of these headers. Other clients get the upstream's own header names. */
function namingFor({ headers }: FastifyRequest, { host }: URL): HeaderNaming {
  const { origin, cookie, host: calledAs = host } = headers
  const isBrowser =
    [origin, cookie, headers['sec-fetch-site']].some((value) => value !== undefined) ||
    headers['sec-fetch-mode'] === 'navigate'
  const isPrefixed = isBrowser || headers['x-sallyport-header-names'] === 'prefixed'
  return { for: 'caller', isPrefixed, ownHosts: [host, calledAs] }
}

function toInput(body: ProxyBody, upload: Upload | undefined): ProxyInput {
  return {
    grantId: body.grant_id,
    method: body.method,
    url: body.url,
    headers: body.headers ?? {},
    body: body.body,
    bodyBase64: body.body_base64,
    upload,
    timeoutMs: body.timeout_ms,
    followRedirects: body.follow_redirects ?? false,
    stream: body.stream ?? false,
    aws: body.aws,
    reason: body.reason,
  }
}

const redirects = new Set([301, 302, 303, 307, 308])

/** Some runtimes keep all of a request body unless every redirect is an error, so they ask not to see one. */
function shownTo(request: FastifyRequest, answer: StreamedReply): StreamedReply {
  const { status, headers } = answer
  if (request.headers['x-sallyport-redirects'] !== 'as-200' || !redirects.has(status)) return answer
  return { ...answer, status: 200, headers: [...headers, ['x-sallyport-status', String(status)]] }
}
