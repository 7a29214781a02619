import type { Http } from './http.ts'

/**
 * Pages of the listed origins may call the API with a bearer token. Cookies don't work for them: without
 * `Access-Control-Allow-Credentials` a browser doesn't let the page read answers to requests with cookies.
 */
export function allowCorsOrigins(http: Http, origins: readonly string[]): void {
  if (origins.length === 0) return
  http.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.isForwarded) return
    reply.header('vary', 'Origin')
    const { origin } = request.headers
    if (origin === undefined || !origins.includes(origin)) return
    reply.header('access-control-allow-origin', origin)
    // All of them: a page can read an answer only if the call came with a token that the page has.
    reply.header('access-control-expose-headers', '*')
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return
    reply.header('access-control-allow-methods', 'GET, POST, PATCH, DELETE')
    reply.header(
      'access-control-allow-headers',
      'authorization, content-type, idempotency-key, prefer, x-sallyport-header-names, x-sallyport-redirects',
    )
    reply.header('access-control-max-age', '600')
    await reply.code(204).send()
  })
}
