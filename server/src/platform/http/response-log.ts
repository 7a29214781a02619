import type { Log } from '../log.ts'
import type { Http } from './http.ts'

/** A line for each answer: which route, how it ended, how long it took. Never the path or query as they were sent. */
export function logResponses(http: Http): void {
  http.addHook('onResponse', (request, reply, done) => {
    const { failure, method } = request
    const log = request.log as Log
    const status = reply.statusCode
    const isOurFault = status >= 500
    if (isOurFault || log.isLevelEnabled('info')) {
      const route = request.routeOptions.url ?? '(none)'
      const line = {
        method,
        route,
        status,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        ...(failure && { code: failure.code, reason: failure.detail }),
      }
      const message = `${method} ${route} ${status}`
      if (isOurFault) log.error({ ...line, err: failure?.cause ?? failure }, message)
      else log.info(line, message)
    }
    done()
  })
}
