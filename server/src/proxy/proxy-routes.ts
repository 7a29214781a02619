import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { HeldReply } from '@sallyport/protocol/calls'
import { DryRunReply, ProxyBody, ProxyReply } from '@sallyport/protocol/proxy'
import { streamedCallType } from '@sallyport/protocol/streamed-call'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { actingAgent } from '../authenticate.ts'
import type { Config } from '../config/config.ts'
import { cutShort } from '../platform/http/error-replies.ts'
import type { Http } from '../platform/http/http.ts'
import { applyWait, preferredWait, whenGone } from '../platform/http/prefer.ts'
import { requestMembers } from '../platform/http/response-log.ts'
import { readStreamedBodies } from '../platform/http/streamed-bodies.ts'
import { removeSecurityHeaders } from '../platform/http/security-headers.ts'
import { enter } from './admit.ts'
import type { EnterNeeds } from './admit.ts'
import type { HeaderNaming } from './answer-headers.ts'
import type { ProxyInput } from './call.ts'
import { dryRun } from './dry-run.ts'
import { readIdempotencyKey } from './idempotency.ts'
import type { Held } from './holding.ts'
import { proxyCall, storedAnswer } from './proxy-call.ts'
import type { ProxyNeeds, ProxyReply as Answer } from './proxy-call.ts'
import type { CallMetrics, CallTimes } from './proxy-metrics.ts'
import type { StreamedAnswer } from './streamed-answer.ts'
import { uploadOf } from './upload.ts'
import type { Upload } from './upload.ts'
import type { HeaderList } from './upstream.ts'

declare module 'fastify' {
  interface FastifyRequest {
    callTimes?: CallTimes
    /** Frees the place in flight before the answer is sent. */
    leaveFlight?: () => void
    /** The call waits for a person, and perhaps its client with it: that is not how long a call takes. */
    isHeld?: boolean
  }
}

interface ProxyRouteNeeds extends ProxyNeeds, EnterNeeds {
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
      onRequest: async (request, { raw }) => {
        const leave = await enter(needs, actingAgent(request).agent, request.id)
        request.leaveFlight = leave
        onceClosed(raw, leave)
      },
      onResponse: (request, { elapsedTime }, done) => {
        if (!request.isHeld) needs.onSent(elapsedTime, request.callTimes)
        done()
      },
      schema: {
        tags: ['Proxy'],
        summary: "Call an API with the user's credential, which the service adds and redacts from the response",
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
      const times = (request.callTimes = { startedAt: performance.now() - reply.elapsedTime })
      const agent = actingAgent(request)
      const idempotencyKey = readIdempotencyKey(request.headers['idempotency-key'])
      const input = toInput(request.body, uploadOf(request.body, request.streamedBody, idempotencyKey))
      if (request.body.dry_run) return dryRun(needs, agent, input, request.id)
      const answer = await proxyCall(needs, agent, input, {
        requestId: request.id,
        loggedIds: request.loggedIds,
        idempotencyKey,
        onClosed: (then) => {
          onceClosed(reply.raw, () => {
            then(reply.raw.writableFinished)
          })
        },
        times,
        naming: namingFor(request, needs.config.baseUrl),
      })
      if (answer.kind === 'held') {
        forgetRequest(request)
        return answerHeld(needs, request, reply, answer)
      }
      if (answer.kind === 'streamed') return sendStream(reply, answer)
      return sendWhole(request, reply, answer)
    },
  )
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
function forgetRequest(request: FastifyRequest): void {
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
    const onClosed = (then: (isSent: boolean) => void) => {
      onceClosed(reply.raw, () => {
        then(reply.raw.writableFinished)
      })
    }
    return sendWhole(request, reply, storedAnswer(needs, agentId, held.envelope, { onClosed }))
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

/**
 * Not a WeakMap: until the next major collection it would keep each response alive, because the callbacks refer to it. All
 * of the call would then be promoted to the old generation.
 */
const onClose = Symbol('called when the response is closed')

/** All share one listener: Node warns of more than ten. */
function onceClosed(raw: FastifyReply['raw'] & { [onClose]?: (() => void)[] }, then: () => void): void {
  const known = raw[onClose]
  if (raw.closed) then()
  else if (known) known.push(then)
  else {
    const all = (raw[onClose] = [then])
    raw.once('close', () => {
      for (const one of all) one()
    })
  }
}

/** Browsers send one of these headers. Other clients get the upstream's own header names. */
function namingFor({ headers }: FastifyRequest, { host }: URL): HeaderNaming {
  const { origin, cookie, host: calledAs = host } = headers
  const isBrowser =
    [origin, cookie, headers['sec-fetch-site']].some((value) => value !== undefined) ||
    headers['sec-fetch-mode'] === 'navigate'
  return { prefixed: isBrowser || headers['x-sallyport-header-names'] === 'prefixed', ownHosts: [host, calledAs] }
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

/** Sent by the framework like every other answer, so that each hook, header rule and limit applies to it too. */
async function sendStream(reply: FastifyReply, answer: StreamedAnswer): Promise<FastifyReply> {
  const { raw, request } = reply
  const { statusText } = answer
  const { status, headers } = shownTo(request, answer)
  // The framework does not wait for the end of an answer without a body. Here that end is on record first.
  const isEmpty = status === 204
  if (isEmpty) await buffer(answer.body)
  if (isEmpty && request.isBodyCutShort) reply.header('connection', 'close')
  const chunks = request.isBodyCutShort && !isEmpty ? cutShort(request, reply, answer.body) : answer.body
  const body = isEmpty ? undefined : readableOf(raw, answer, chunks)
  // Not by `reply.code`, which refuses what is no status of HTTP.
  raw.statusCode = status
  removeSecurityHeaders(reply)
  setHeaders(reply, headers)
  // The framework has set all headers by then. From here on a failure can only cut the answer short.
  raw.once('pipe', () => {
    raw.writeHead(status, statusText)
    flushSoon(raw, headers)
  })
  // Immediately: a client that does not read must not keep the call from ending with its grant.
  answer.signal.addEventListener('abort', () => raw.destroy())
  onceClosed(raw, () => {
    if (!raw.writableFinished) {
      request.log.info({ ...requestMembers(request), err: answer.signal.reason }, 'a streamed response was cut off')
    }
    // Even if nobody has begun to read it.
    answer.giveUp()
  })
  return reply.send(body)
}

const redirects = new Set([301, 302, 303, 307, 308])

/** Some runtimes keep all of a request body unless every redirect is an error, so they ask not to see one. */
function shownTo(
  request: FastifyRequest,
  { status, headers }: StreamedAnswer,
): Pick<StreamedAnswer, 'status' | 'headers'> {
  if (request.headers['x-sallyport-redirects'] !== 'as-200' || !redirects.has(status)) return { status, headers }
  return { status: 200, headers: [...headers, ['x-sallyport-status', String(status)]] }
}

/** A `Readable` reads one chunk ahead. Here it waits: a call is not over before the client has taken the last chunk. */
function readableOf(raw: FastifyReply['raw'], answer: StreamedAnswer, body: AsyncIterable<Buffer>): Readable {
  let proceed = (): void => undefined
  const chunks = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of body) {
      yield chunk
      if (readable.isPaused()) await new Promise<void>((resolve) => (proceed = resolve))
    }
    raw.addTrailers(answer.trailers())
  }
  const readable: Readable = Readable.from(chunks()).on('resume', () => {
    proceed()
  })
  onceClosed(raw, () => {
    proceed()
    readable.destroy()
  })
  return readable
}

/** The upstream's headers replace defaults of the same name. An `onSend` hook still has the last word. */
function setHeaders(reply: FastifyReply, headers: HeaderList): void {
  for (const [name, values] of Map.groupBy(headers, ([key]) => key)) {
    const ours = name === 'vary' ? [reply.getHeader(name) ?? []].flat().map(String) : []
    const all = [...ours, ...values.map(([, value]) => value)]
    reply.header(name, all.length === 1 ? all[0] : all)
  }
}

/**
 * A client that waits for the first event of a stream learns immediately that it has begun. Node flushes headers as
 * UTF-8, so headers with Latin-1 bytes have to wait for the body.
 */
function flushSoon(raw: FastifyReply['raw'], headers: HeaderList): void {
  if (headers.some(([, value]) => /[^\x20-\x7e\t]/.test(value))) return
  setImmediate(() => {
    if (!raw.writableEnded) raw.flushHeaders()
  })
}
