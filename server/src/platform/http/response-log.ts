import type { FastifyRequest } from 'fastify'
import type { Log } from '../operations/log.ts'
import type { Http } from './http.ts'

/** Ids to log with a request, such as `agent_id`. Only ids of existing records, never text that a caller sent. */
export type LoggedIds = Record<string, string>

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Called every few seconds by load balancers and collectors: logged at debug level unless it fails. */
    isProbe?: boolean
  }
  interface FastifyRequest {
    loggedIds?: LoggedIds
  }
}

/** Logs each response: route, status, duration. Never the path or query that was sent. */
export function logResponses(http: Http, log: Log): void {
  http.addHook('onResponse', (request, reply, done) => {
    const { failure, method, routeOptions } = request
    const status = reply.statusCode
    const level = status >= 500 ? 'error' : routeOptions.config.isProbe === true ? 'debug' : 'info'
    if (log.isLevelEnabled(level)) {
      const route = routeOptions.url ?? '(none)'
      const line = {
        ...requestMembers(request),
        method,
        route,
        status,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        ...(failure && { code: failure.code, reason: failure.detail }),
        ...(level === 'error' && { err: failure?.cause ?? failure }),
      }
      log[level](line, `${method} ${route} ${status}`)
    }
    done()
  })
}

/** Members of every log line about a request. A child logger per request would cost more than the line. */
export function requestMembers({ id, loggedIds, headers }: FastifyRequest) {
  return {
    request_id: id,
    ...loggedIds,
    trace_id: traceContextOf(headers['traceparent'])?.traceId,
  }
}

export interface TraceContext {
  traceId: string
  parentSpanId: string
  isSampled: boolean
}

/** W3C Trace Context: version 00, or a later one that may append fields. */
const traceparentForm = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

export function traceContextOf(traceparent: string | string[] | undefined): TraceContext | undefined {
  if (typeof traceparent !== 'string' || traceparent.length > 512) return undefined
  const [, traceId, parentSpanId = '', flags = '', rest] = traceparentForm.exec(traceparent) ?? []
  if (traceId === undefined || (rest !== undefined && traceparent.startsWith('00'))) return undefined
  return { traceId, parentSpanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}
