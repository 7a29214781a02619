/**
 * One span for each request, with child spans for what it waits for. A span has the route, the status and ids of our
 * records, never a path, query, header, body, host or credential.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import { ServiceError } from '../errors.ts'
import type { Http } from './http.ts'
import { traceContextOf } from './response-log.ts'
import type { Attributes, Span } from '../telemetry/otlp.ts'

/** A child span while its work is done. */
export interface ChildSpan {
  /** For the request that the work sends. */
  traceparent: string
  set: (attributes: Attributes) => void
}

export interface Tracer {
  /** Runs the work, as a child of the current request's span if there is one. */
  span: <T>(name: string, kind: Span['kind'], work: (span: ChildSpan | undefined) => Promise<T>) => Promise<T>
}

interface RequestSpan {
  traceId: string
  spanId: string
  parentSpanId: string | undefined
  /** Added to `performance.now()`: all times of a trace follow one clock that can't jump. */
  epochMs: number
  children: number
  isOver: boolean
}

/** A request that makes many more queries shows the first ones. */
const maxChildren = 64
export function createTracer(clock: Clock, onSpan: (span: Span) => void) {
  const current = new AsyncLocalStorage<RequestSpan>()
  const spans = new WeakMap<FastifyRequest, RequestSpan>()

  const span: Tracer['span'] = async (name, kind, work) => {
    const parent = current.getStore()
    if (!parent || parent.isOver || parent.children >= maxChildren) return work(undefined)
    parent.children++
    const { traceId, spanId: parentSpanId, epochMs } = parent
    const nowMs = () => epochMs + performance.now()
    const spanId = newSpanId()
    const attributes: Attributes = {}
    const child = {
      traceparent: `00-${traceId}-${spanId}-01`,
      set: (more: Attributes) => Object.assign(attributes, more),
    }
    const startMs = nowMs()
    const end = (isFailed: boolean) => {
      onSpan({ traceId, spanId, parentSpanId, name, kind, startMs, endMs: nowMs(), attributes, isFailed })
    }
    try {
      const result = await work(child)
      end(false)
      return result
    } catch (error) {
      attributes['error.type'] = error instanceof ServiceError ? error.code : 'internal'
      end(true)
      throw error
    }
  }

  const traceRequests = (http: Http) => {
    http.addHook('onRequest', (request, _reply, done) => {
      const given = traceContextOf(request.headers['traceparent'])
      const isLeftOut = request.routeOptions.config.isProbe === true || given?.isSampled === false
      if (!isLeftOut) {
        const traceId = given?.traceId ?? randomBytes(16).toString('hex')
        const parentSpanId = given?.parentSpanId
        spans.set(request, {
          ...{ traceId, spanId: newSpanId(), parentSpanId, epochMs: clock().getTime() - performance.now() },
          ...{ children: 0, isOver: false },
        })
      }
      done()
    })
    // The body has arrived: what reads it may run in the context of its connection.
    http.addHook('preHandler', (request, _reply, done) => {
      const own = spans.get(request)
      if (own) current.run(own, done)
      else done()
    })
    http.addHook('onResponse', (request, reply, done) => {
      const own = spans.get(request)
      if (own) {
        own.isOver = true
        onSpan(requestSpan(own, request, reply))
      }
      done()
    })
  }

  return { span, traceRequests }
}

function newSpanId(): string {
  return randomBytes(8).toString('hex')
}

function requestSpan(
  own: RequestSpan,
  request: FastifyRequest,
  { statusCode: status, elapsedTime }: FastifyReply,
): Span {
  const { traceId, spanId, parentSpanId, epochMs } = own
  const { id, method, failure, loggedIds = {} } = request
  const route = request.routeOptions.url ?? '(none)'
  const endMs = epochMs + performance.now()
  return {
    ...{ traceId, spanId, parentSpanId, name: `${method} ${route}`, kind: 'server' },
    ...{ startMs: endMs - elapsedTime, endMs, isFailed: status >= 500 },
    attributes: {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
      'error.type': failure?.code,
      'sallyport.request_id': id,
      ...Object.fromEntries(Object.entries(loggedIds).map(([name, value]) => [`sallyport.${name}`, value])),
    },
  }
}
