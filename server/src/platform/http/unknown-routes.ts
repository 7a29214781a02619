import { ServiceError } from '../errors.ts'
import type { Http } from './http.ts'

interface KnownRoute {
  pattern: RegExp
  methods: string[]
}

/** A path that is there under another method is 405 with `Allow`; anything else is 404. */
export function answerUnknownRoutes(http: Http): void {
  const routes: KnownRoute[] = []
  http.addHook('onRoute', ({ url, method }) => {
    // What takes all that is nobody's is no path of its own.
    if (url !== '*') routes.push({ pattern: toPattern(url), methods: [method].flat() })
  })
  http.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    const allowed = routes.filter(({ pattern }) => pattern.test(path)).flatMap(({ methods }) => methods)
    // A route that takes the method has looked, and found no such file.
    if (allowed.length === 0 || allowed.includes(request.method)) throw new ServiceError('not_found')
    reply.header('allow', [...new Set(allowed)].sort().join(', '))
    throw new ServiceError('http_method_not_supported')
  })
}

function toPattern(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replace(/:[^/]+/g, '[^/]+').replaceAll('*', '.*')}$`)
}
