import type { ServiceError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Http } from './http.ts'

interface Answered {
  method: string
  route: string
  status: number
  ms: number
  failure: ServiceError | undefined
}

/** A line for each answer: which route, how it ended, how long it took. Never the path or query as they were sent. */
export function logResponses(http: Http): void {
  http.addHook('onResponse', (request, reply, done) => {
    const { failure, method } = request
    const route = request.routeOptions.url ?? '(none)'
    logResponse(request.log as Log, { method, route, status: reply.statusCode, ms: reply.elapsedTime, failure })
    done()
  })
}

/** `requestId` where the log does not know it. */
export function logResponse(log: Log, answered: Answered, requestId?: string): void {
  const isOurFault = answered.status >= 500
  if (!isOurFault && !log.isLevelEnabled('info')) return
  const { failure, ms, ...what } = answered
  const line = {
    ...(requestId !== undefined && { request_id: requestId }),
    ...what,
    ms: Math.round(ms * 10) / 10,
    ...(failure && { code: failure.code, reason: failure.detail }),
  }
  const message = `${what.method} ${what.route} ${what.status}`
  if (isOurFault) log.error({ ...line, err: failure?.cause ?? failure }, message)
  else log.info(line, message)
}
