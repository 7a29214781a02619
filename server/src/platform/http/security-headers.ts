import type { FastifyReply } from 'fastify'
import type { Http } from './http.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Instead of that of our pages. */
    contentSecurityPolicy?: string
  }
}

/** Pages may load only the service's own files: no inline scripts or styles, no other hosts, no frames. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join(';')

/** For a page whose script sets styles of its own. It must show nothing that a caller could have written. */
export const allowingInlineStyles = contentSecurityPolicy.replace(
  "style-src 'self'",
  "style-src 'self' 'unsafe-inline'",
)

const onEveryAnswer = {
  'content-security-policy': contentSecurityPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-permitted-cross-domain-policies': 'none',
  // Responses are specific to the caller.
  'cache-control': 'no-store',
}

const overHttps = { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }

export function setSecurityHeaders(http: Http, baseUrl: URL): void {
  const headers = { ...onEveryAnswer, ...(baseUrl.protocol === 'https:' && overHttps) }
  http.addHook('onRequest', ({ routeOptions }, reply, done) => {
    const { contentSecurityPolicy: own } = routeOptions.config
    reply.headers(own === undefined ? headers : { ...headers, 'content-security-policy': own })
    done()
  })
}

/** For an answer that repeats another server's headers: a client would take ours for that server's. */
export function removeSecurityHeaders(reply: FastifyReply): void {
  for (const name of Object.keys({ ...onEveryAnswer, ...overHttps })) reply.removeHeader(name)
}
