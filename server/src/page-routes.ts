/** Serves the pages that are built from `web/` (console and authenticator), and the API reference. */
import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { FastifyRequest } from 'fastify'
import { ServiceError } from './platform/errors.ts'
import type { Http } from './platform/http/http.ts'
import { publicFile } from './platform/http/public-document.ts'
import type { SendDocument } from './platform/http/public-document.ts'
import { referenceRoutes } from './reference/reference-routes.ts'

const built = fileURLToPath(new URL('../dist/pages', import.meta.url))
const builtReference = fileURLToPath(new URL('../dist/reference', import.meta.url))

/** The paths of the console's views. The page loads its data from the API, so anyone may open it. */
const consolePaths = [
  ...['/', '/account', '/connect-agent', '/approve-proxy/:id', '/approve-call/:id'],
  ...['connections', 'grants', 'agents', 'activity', 'devices', 'admin'].flatMap((name) => [`/${name}`, `/${name}/*`]),
]

/** Files next to the pages whose names do not change between builds. */
const files = [
  ...['favicon.svg', 'authenticator.webmanifest', 'authenticator-sw.js'],
  ...['authenticator-192.png', 'authenticator-512.png'],
]

const missing = 'The pages of this service are not built. In its folder, run: npm run build'

export function pageRoutes(http: Http, root = built): void {
  referenceRoutes(http, builtReference)
  if (!existsSync(`${root}/index.html`)) {
    http.log.warn(missing)
    for (const path of [...consolePaths, '/authenticator']) {
      http.get(path, { schema: { hide: true } }, () => {
        throw new ServiceError('not_found', { message: missing })
      })
    }
    return
  }
  const serve = (path: string, send: SendDocument) => http.get(path, { schema: { hide: true } }, send)
  serveAssets(http, `${root}/assets`)
  const page = publicFile(`${root}/index.html`)
  for (const path of consolePaths) serve(path, page)
  serve('/authenticator', publicFile(`${root}/authenticator.html`))
  for (const file of files) serve(`/${file}`, publicFile(`${root}/${file}`))
  // A browser gets our 404 page, an API client gets an API error.
  http.get('*', { schema: { hide: true } }, (request, reply) => {
    if (isForPeople(request)) return page(request, reply.code(404))
    reply.callNotFound()
    return reply
  })
}

/** Names of assets contain a hash of their content. */
function serveAssets(http: Http, folder: string): void {
  const names = readdirSync(folder).filter((name) => !/\.(?:br|gz)$/.test(name))
  const assets = new Map(
    names.map((name) => [name, publicFile(`${folder}/${name}`, 'public, max-age=31536000, immutable')]),
  )
  http.get<{ Params: { name: string } }>('/assets/:name', { schema: { hide: true } }, (request, reply) => {
    const send = assets.get(request.params.name)
    if (send) return send(request, reply)
    reply.callNotFound()
    return reply
  })
}

function isForPeople({ headers, url }: FastifyRequest): boolean {
  return /\btext\/html\b/.test(headers.accept ?? '') && !/^\/(?:v\d|assets\/)/.test(url)
}
