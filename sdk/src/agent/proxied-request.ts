/** What was given to `fetch`, as it goes into a proxied call. */
import { toBase64 } from './base64.ts'

/** One request of a call: its first, or one that a redirect led to. */
export interface Hop {
  method: string
  /** Without its fragment, which is never sent. */
  url: string
  headers: Headers
  /** In base64. */
  body: string | undefined
}

type FetchArguments = Parameters<typeof globalThis.fetch>

/** The runtime's own `Request` reads the arguments, so that whatever it takes or refuses is taken or refused. */
export async function readRequest(...[input, init]: FetchArguments) {
  const request = new Request(input, init)
  // What can't be checked must not pass for checked.
  if (request.integrity) throw new TypeError('The integrity option is not supported.')
  const { method, redirect } = request
  const { signal, owner } = callersSignal(input, init)
  const headers = new Headers(request.headers)
  // Some APIs refuse a call without it, and every runtime sends one. A User-Agent is added by the service.
  if (!headers.has('accept')) headers.set('accept', '*/*')
  signal?.throwIfAborted()
  const body = request.body ? toBase64(await bytesOf(request, signal)) : undefined
  const first: Hop = { method, url: withoutFragment(request.url), headers, body }
  return { first, signal, owner, redirect }
}

/**
 * The caller's own signal, never the one of a `Request` made here: a Request's signal follows the given one only until
 * the Request is garbage collected. Where the caller gave a Request, it is the `owner`, to be kept for the whole call.
 */
function callersSignal(...[input, init]: FetchArguments): { signal?: AbortSignal; owner?: Request } {
  if (init?.signal !== undefined) return init.signal ? { signal: init.signal } : {}
  return input instanceof Request ? { signal: input.signal, owner: input } : {}
}

/** A body that is a stream may fail, or never end. */
function bytesOf(request: Request, signal: AbortSignal | undefined): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      reject(signal?.reason as Error)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    request
      .arrayBuffer()
      .finally(() => {
        signal?.removeEventListener('abort', onAbort)
      })
      .then(
        (bytes) => {
          resolve(new Uint8Array(bytes))
        },
        (cause: unknown) => {
          reject(new TypeError('The request body could not be read.', { cause }))
        },
      )
  })
}

const redirects = new Set([301, 302, 303, 307, 308])

export function isRedirect({ status }: Response): boolean {
  return redirects.has(status)
}

/** Where a redirect leads to (WHATWG Fetch §4.4); undefined where it leads nowhere. */
export function redirected(hop: Hop, { status, headers }: Response): Hop | undefined {
  const location = headers.get('location')
  if (location === null) return undefined
  const address = utf8In(location)
  if (!URL.canParse(address, hop.url)) throw new TypeError('The response redirects to an invalid URL.')
  const url = withoutFragment(new URL(address, hop.url).href)
  // 303 asks for a GET, and so, by long custom, do 301 and 302 after a POST.
  const becomesGet = status === 303 ? !['GET', 'HEAD'].includes(hop.method) : status < 303 && hop.method === 'POST'
  if (!becomesGet) return { ...hop, url }
  const kept = [...hop.headers].filter(([name]) => !name.startsWith('content-'))
  return { method: 'GET', url, headers: new Headers(kept), body: undefined }
}

function withoutFragment(url: string): string {
  return url.replace(/#.*/s, '')
}

/** Header values come as Latin-1, one character a byte; what stands in them by custom is UTF-8. */
function utf8In(value: string): string {
  return new TextDecoder().decode(Uint8Array.from(value, (character) => character.charCodeAt(0)))
}
