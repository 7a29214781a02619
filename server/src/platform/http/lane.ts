/**
 * The lane: ordinary calls of the one route that is called all the time go past the framework. The rules are the same,
 * and so are the functions that hold them. What is not ordinary, by its headers or its body, takes the usual way from
 * there on, and is refused there where it is to be refused.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { Static, TSchema } from 'typebox'
import type { Clock } from '../clock.ts'
import { newId } from '../ids.ts'
import type { Log } from '../log.ts'
import { turnsEnd } from '../turns-end.ts'
import type { BodiesInFlight } from './bodies-in-flight.ts'
import { errorAnswer } from './error-replies.ts'
import type { ErrorAnswer } from './error-replies.ts'
import type { Http } from './http.ts'
import { readPlainJson } from './json-bodies.ts'
import { logResponse } from './response-log.ts'
import { validatorCompiler } from './validation.ts'

declare module 'fastify' {
  interface FastifyInstance {
    lane: Lane
  }
}

export interface Lane {
  /** Calls come in by `before`, and go on to whoever opened the lane. */
  open: <Caller, Schema extends TSchema>(http: Http, route: LaneRoute<Caller, Schema>) => void
  before: (usual: RequestListener) => RequestListener
}

export interface LaneRoute<Caller, Schema extends TSchema> {
  url: string
  schema: Schema
  bodyLimit: number
  /** Before the body is read. Undefined where the usual way has to say what is wrong. */
  identify: (authorization: string) => Promise<Caller | undefined>
  /** Whether such a body is taken here. */
  takes: (body: Static<Schema>) => boolean
  /** JSON, as it goes out: a text, or its bytes in parts. */
  answer: (caller: Caller, body: Static<Schema>, call: LaneCall) => Promise<string | readonly Buffer[]>
  measure: (status: number, ms: number) => void
}

export interface LaneCall {
  requestId: string
  /** It came at once as a whole: what was asked for its sake before its body was read is of this moment. */
  isPrompt: boolean
  /** Calls back once the caller has hung up before the answer was complete. */
  onGone: (then: () => void) => void
}

interface LaneNeeds {
  clock: Clock
  log: Log
  /** What stands in every answer. */
  headers: Record<string, string>
  isOurHost: (request: IncomingMessage) => boolean
  isStopping: () => boolean
  bodies: BodiesInFlight
}

type Take = (request: IncomingMessage, response: ServerResponse, usual: RequestListener) => Promise<void>

/** Larger bodies are rare, and cost more than the framework does. */
const mostBytes = 65_536
const promptMs = 10
const json = /^application\/json(?:; ?charset=utf-8)?$/i
/** With one of these a call is not ordinary. */
const unusual = ['expect', 'idempotency-key', 'origin', 'transfer-encoding', 'upgrade']

export function createLane(needs: LaneNeeds): Lane {
  const takes = new Map<string, Take>()
  /** Bodies that were read here, for the framework to read once more. */
  const read = new WeakMap<IncomingMessage, Buffer>()
  return {
    open: (http, route) => {
      takes.set(route.url, takeFor(needs, route, read))
      http.addHook('preParsing', ({ raw }, _reply, payload, done) => {
        const bytes = read.get(raw)
        done(null, bytes ? Readable.from([bytes]) : payload)
      })
    },
    before: (usual) => (request, response) => {
      const take = request.method === 'POST' ? takes.get(request.url ?? '') : undefined
      if (take) void take(request, response, usual)
      else usual(request, response)
    },
  }
}

function takeFor<Caller, Schema extends TSchema>(
  needs: LaneNeeds,
  route: LaneRoute<Caller, Schema>,
  read: WeakMap<IncomingMessage, Buffer>,
): Take {
  const { url } = route
  const validate = validatorCompiler({ schema: route.schema, method: 'POST', url, httpPart: 'body' })
  const isValid = (body: unknown) => (validate(body) as { error?: unknown }).error === undefined
  const most = Math.min(mostBytes, route.bodyLimit)
  const head = Object.entries({ ...needs.headers, 'content-type': 'application/json; charset=utf-8' }).flat()

  const isOrdinary = (request: IncomingMessage, length: number) =>
    length > 0 &&
    length <= most &&
    json.test(request.headers['content-type'] ?? '') &&
    unusual.every((name) => request.headers[name] === undefined) &&
    needs.isOurHost(request) &&
    !needs.isStopping()

  const work = async (
    response: ServerResponse,
    caller: Caller,
    body: Static<Schema>,
    whenClosed: WhenClosed,
    { startedAt, isPrompt }: { startedAt: number; isPrompt: boolean },
  ) => {
    const requestId = newId('req', needs.clock())
    const call: LaneCall = {
      requestId,
      isPrompt,
      onGone: (then) => {
        if (response.closed) then()
        else whenClosed.gone = then
      },
    }
    let failed: ErrorAnswer | undefined
    whenClosed.answered = () => {
      const ms = performance.now() - startedAt
      const { statusCode: status } = response
      route.measure(status, ms)
      logResponse(needs.log, { method: 'POST', route: url, status, ms, failure: failed?.failure }, requestId)
    }
    try {
      send(response, 200, await route.answer(caller, body, call), requestId)
    } catch (error) {
      failed = errorAnswer(error, requestId)
      send(response, failed.status, [failed.body], requestId, failed.headers)
    }
  }

  const send = (
    response: ServerResponse,
    status: number,
    body: string | readonly Buffer[],
    requestId: string,
    more?: Record<string, string>,
  ) => {
    const isText = typeof body === 'string'
    const length = isText ? Buffer.byteLength(body) : body.reduce((sum, part) => sum + part.length, 0)
    const headers = [...head, 'x-request-id', requestId, 'content-length', String(length)]
    if (more) headers.push(...Object.entries(more).flat())
    if (needs.isStopping()) headers.push('connection', 'close')
    response.writeHead(status, headers)
    // Where it takes a byte for each character it is ASCII, which goes out as it is.
    if (isText) response.end(body, length === body.length ? 'latin1' : 'utf8')
    else endWith(response, body)
  }

  return async (request, response, usual) => {
    // An answer takes as long as its caller waits, also for the database to say who that is.
    const startedAt = performance.now()
    const others = turnsEnd()
    await others
    // Nobody would hear of its end any more.
    if (response.closed) return
    const { authorization } = request.headers
    const length = Number(request.headers['content-length'] ?? 0)
    const release = authorization !== undefined && isOrdinary(request, length) ? needs.bodies.claim(length) : undefined
    if (authorization === undefined || !release) {
      usual(request, response)
      return
    }
    const whenClosed = onceClosed(response, release)
    const leave = () => {
      release()
      usual(request, response)
    }
    route.identify(authorization).then((caller) => {
      if (caller === undefined) {
        leave()
        return
      }
      const knownAt = performance.now()
      readBody(request, others ? 0 : length, (bytes) => {
        const isPrompt = performance.now() - knownAt < promptMs
        const body = readPlainJson(bytes) as Static<Schema> | undefined
        if (body !== undefined && isValid(body) && route.takes(body)) {
          void work(response, caller, body, whenClosed, { startedAt, isPrompt })
          return
        }
        read.set(request, bytes)
        leave()
      })
    }, leave)
  }
}

/** Head and parts in one go to the system, without being joined before. */
function endWith(response: ServerResponse, parts: readonly Buffer[]): void {
  response.cork()
  for (const part of parts) response.write(part)
  response.end()
}

interface WhenClosed {
  answered?: () => void
  gone?: () => void
}

function onceClosed(response: ServerResponse, release: () => void): WhenClosed {
  const when: WhenClosed = {}
  let isFinished = false
  response.once('finish', () => {
    isFinished = true
    when.answered?.()
  })
  response.once('close', () => {
    release()
    if (!isFinished) when.gone?.()
  })
  return when
}

/**
 * A caller that hangs up meanwhile gets no answer, and none is made. `length`: so much may be there already, and is taken
 * without waiting for the events of the body.
 */
function readBody(request: IncomingMessage, length: number, then: (bytes: Buffer) => void): void {
  const whole = length > 0 ? (request.read(length) as Buffer | null) : null
  if (whole) {
    then(whole)
    return
  }
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => {
    parts.push(part)
  })
  request.on('end', () => {
    then(parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts))
  })
}
