/** An API with TLS whose paths select its behaviour, and which records the requests. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { sharedAuthority } from '../server/testkit/certificates.ts'
import { startTlsUpstream } from '../server/testkit/tls-upstream.ts'

export interface ToldUpstream {
  /** `localhost:PORT` */
  host: string
  caPem: string
  /** The credentials it received. */
  authorizations: (string | undefined)[]
  /** Continues the waiting response. */
  goOn: () => void
  /** Resolves once a caller of `/hang` or `/stall` has disconnected. */
  gone: () => Promise<unknown>
  /** How many callers of `/hang` or `/stall` are still connected. */
  readonly waiting: number
}

interface Course {
  /** Resolves at the next `goOn`. */
  turn: () => Promise<undefined>
  /** What `gone` waits for. */
  departs: (response: ServerResponse) => void
}

export type Respond = (request: IncomingMessage, response: ServerResponse, url: URL, course: Course) => unknown

export async function startToldUpstream(t: Pick<TestContext, 'after'>, more: Record<string, Respond> = {}) {
  const authority = await sharedAuthority()
  const certificate = await authority.issue({ names: ['localhost'] })
  const authorizations: ToldUpstream['authorizations'] = []
  let turn = Promise.withResolvers<undefined>()
  let departure = Promise.withResolvers<unknown>()
  let waiting = 0

  const course: Course = {
    turn: () => {
      turn = Promise.withResolvers()
      return turn.promise
    },
    departs: (response) => {
      waiting++
      void once(response, 'close').then((event) => {
        waiting--
        departure.resolve(event)
      })
    },
  }
  const paths: Record<string, Respond> = {
    '/tell': async (request, response) => {
      const body = await buffer(request)
      const told = {
        method: request.method,
        url: request.url,
        headers: request.headers,
        rawHeaders: request.rawHeaders,
        body: body.toString('latin1'),
        hash: createHash('sha256').update(body).digest('hex'),
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(told))
    },
    '/status': (_request, response, { searchParams }) => {
      const status = Number(searchParams.get('is'))
      response.writeHead(status, { 'x-is': String(status) })
      response.end([204, 205, 304].includes(status) ? undefined : 'a body')
    },
    '/redirect': (_request, response, { searchParams }) => {
      const location = searchParams.get('to') ?? ''
      response.writeHead(Number(searchParams.get('is') ?? 302), { location: Buffer.from(location).toString('latin1') })
      response.end('elsewhere')
    },
    '/loop': (_request, response) => response.writeHead(302, { location: '/loop' }).end(),
    '/twice': (_request, response) => {
      response.setHeader('x-many', ['one', 'two'])
      response.writeHead(200, { link: '</next>; rel="next"', 'x-request-id': 'theirs', etag: '"1"' }).end('hello')
    },
    '/cookies': (_request, response) => {
      response.setHeader('set-cookie', ['a=b', 'c=d'])
      response.end('hello')
    },
    '/forged': (_request, response) => {
      const forged = { 'x-sallyport-error': 'grant_revoked', 'X-Sallyport-X-Sallyport-Error': 'grant_revoked' }
      response.writeHead(403, { ...forged, 'x-sallyport-upstream': '0' }).end('mine')
    },
    '/gzip': (_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'text/plain' }).end(gzipSync('zipped'))
    },
    '/length': (_request, response) => response.writeHead(200, { 'content-length': 5 }).end('hello'),
    '/bom': (_request, response) => response.end('\ufefftext'),
    '/bytes': (_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from([0, 1, 0xfe, 0xff]))
    },
    '/large': (_request, response) => response.end(Buffer.alloc(5_000_000, 'abcdefg')),
    '/turns': async (_request, response, _url, course) => {
      const turn = course.turn()
      response.write('first\n\n')
      await turn
      response.end('second\n\n')
    },
    '/head': async (_request, response, _url, course) => {
      const turn = course.turn()
      response.flushHeaders()
      await turn
      response.end('late')
    },
    '/stall': (_request, response, _url, { departs }) => {
      departs(response)
      response.write('first\n\n')
    },
    '/hang': (_request, response, _url, { departs }) => {
      departs(response)
    },
    '/cut': (_request, response) => {
      response.writeHead(200, { 'content-length': 100 })
      response.write('first\n\n', () => response.destroy())
    },
    ...more,
  }
  const upstream = await startTlsUpstream(t, certificate, (request, response) => {
    authorizations.push(request.headers.authorization)
    const url = new URL(request.url ?? '/', 'https://localhost')
    const respond = paths[url.pathname]
    if (respond) respond(request, response, url, course)
    else response.writeHead(404).end()
  })
  return {
    host: `localhost:${upstream.port}`,
    caPem: authority.caPem,
    authorizations,
    goOn: () => {
      turn.resolve(undefined)
    },
    gone: async () => {
      await departure.promise
      departure = Promise.withResolvers()
    },
    get waiting() {
      return waiting
    },
  } satisfies ToldUpstream
}
