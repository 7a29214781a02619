import type { Http } from './http.ts'

/** A line for each answer: which route, how it ended, how long it took. Never the path or query as they were sent. */
export function logResponses(http: Http): void {
  http.addHook('onResponse', (request, reply, done) => {
    const { failure, method } = request
    const line = {
      method,
      route: request.routeOptions.url ?? '(none)',
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      ...(failure && { code: failure.code, reason: failure.detail }),
    }
    const message = `${line.method} ${line.route} ${line.status}`
    if (line.status < 500) request.log.info(line, message)
    else request.log.error({ ...line, err: failure?.cause ?? failure }, message)
    done()
  })
}
