import type { Http } from './http.ts'

/** Our pages run our own files and nothing else: no inline script or style, no other host, no frame. */
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

const onEveryAnswer = {
  'content-security-policy': contentSecurityPolicy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-permitted-cross-domain-policies': 'none',
  // Answers speak of one caller at one moment.
  'cache-control': 'no-store',
}

export function securityHeaders(baseUrl: URL): Record<string, string> {
  const isHttps = baseUrl.protocol === 'https:'
  return {
    ...onEveryAnswer,
    ...(isHttps && { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }),
  }
}

export function setSecurityHeaders(http: Http, headers: Record<string, string>): void {
  http.addHook('onRequest', (_request, reply, done) => {
    reply.headers(headers)
    done()
  })
}
