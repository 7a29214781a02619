/** The pages that the build made of `web/`: the console, and the authenticator that people install on a phone. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyRequest } from 'fastify'
import { ServiceError } from './platform/errors.ts'
import type { Http } from './platform/http/http.ts'

const built = fileURLToPath(new URL('../dist/pages', import.meta.url))

/** Where the console shows one of its views. The page asks the API for everything in it, so anyone may open it. */
const consolePaths = [
  ...['/', '/account', '/approve-proxy/:id'],
  ...['connections', 'grants', 'activity', 'devices', 'admin'].flatMap((name) => [`/${name}`, `/${name}/*`]),
]

/** Files beside the pages whose names stay the same from build to build. */
const files = [
  ...['favicon.svg', 'authenticator.webmanifest', 'authenticator-sw.js'],
  ...['authenticator-192.png', 'authenticator-512.png'],
]

const missing = 'The pages of this service are not built. In its folder, run: npm run build'

export async function pageRoutes(http: Http, root = built): Promise<void> {
  if (!existsSync(`${root}/index.html`)) {
    http.log.warn(missing)
    for (const path of [...consolePaths, '/authenticator']) {
      http.get(path, { schema: { hide: true } }, () => {
        throw new ServiceError('not_found', { message: missing })
      })
    }
    return
  }
  // The names of assets hold a hash of what is in them.
  const assets = { prefix: '/assets/', root: `${root}/assets`, index: false as const, preCompressed: true }
  const allowedPath = (path: string) => !path.endsWith('/')
  await http.register(fastifyStatic, { ...assets, allowedPath, immutable: true, maxAge: '365d' })
  const serve = (path: string, file: string) =>
    http.get(path, { schema: { hide: true } }, (_request, reply) => reply.sendFile(file, root, { cacheControl: false }))
  for (const path of consolePaths) serve(path, 'index.html')
  serve('/authenticator', 'authenticator.html')
  for (const file of files) serve(`/${file}`, file)
  // Who mistypes an address in a browser reads so on our page; who calls the API gets an answer of the API's.
  http.get('*', { schema: { hide: true } }, (request, reply) => {
    if (isForPeople(request)) return reply.code(404).sendFile('index.html', root, { cacheControl: false })
    reply.callNotFound()
    return reply
  })
}

function isForPeople({ headers, url }: FastifyRequest): boolean {
  return /\btext\/html\b/.test(headers.accept ?? '') && !/^\/(?:v\d|assets\/)/.test(url)
}
