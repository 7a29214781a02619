import { memoizeByText } from '../cache/memoize.ts'
import { ServiceError } from '../errors.ts'
import type { Http } from './http.ts'

interface KnownRoute {
  url: string
  methods: string[]
}

/** Answers 405 with `Allow` if the path exists for another method, otherwise 404. */
export function answerUnknownRoutes(http: Http): void {
  const routes: KnownRoute[] = []
  http.addHook('onRoute', ({ url, method }) => {
    // Not the catch-all route.
    if (url !== '*') routes.push({ url, methods: [method].flat() })
  })
  http.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    const allowed = routes.filter(({ url }) => patternOf(url).test(path)).flatMap(({ methods }) => methods)
    // If a route accepts the method, it was called and found no such file.
    if (allowed.length === 0 || allowed.includes(request.method)) throw new ServiceError('not_found')
    reply.header('allow', [...new Set(allowed)].sort().join(', '))
    throw new ServiceError('http_method_not_supported')
  })
}

/** All apps of a process have the same routes. */
const patternOf = memoizeByText(toPattern)

function toPattern(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replace(/:[^/]+/g, '[^/]+').replaceAll('*', '.*')}$`)
}
