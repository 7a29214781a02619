/** Converts the arguments of `fetch` into a proxied call. */
import { readBody } from '../request-body.ts'
import type { Upload } from '../request-body.ts'

/** One request of a call: the first, or one after a redirect. */
export interface Hop {
  method: string
  /** Without the fragment, which is never sent. */
  url: string
  headers: Headers
  /** Base64, or a long body. */
  body: string | Upload | undefined
  /** Why the call is made, for a person who has to approve it. */
  reason: string | undefined
}

const reasonHeader = 'x-sallyport-reason'

type FetchArguments = Parameters<typeof globalThis.fetch>

/** Parses the arguments with the runtime's own `Request`, so that it accepts and rejects exactly what `fetch` does. */
export async function readRequest(...[input, init]: FetchArguments) {
  const request = new Request(input, init)
  // Refuse `integrity`: the SDK doesn't check it.
  if (request.integrity) throw new TypeError('The integrity option is not supported.')
  const { method, redirect } = request
  const { signal, owner } = callersSignal(input, init)
  const headers = new Headers(request.headers)
  // Some APIs reject requests without Accept, and every runtime sends it. The service adds a User-Agent.
  if (!headers.has('accept')) headers.set('accept', '*/*')
  const reason = headers.get(reasonHeader) ?? undefined
  headers.delete(reasonHeader)
  signal?.throwIfAborted()
  const body = request.body ? await readBody(request.body, init?.body, signal) : undefined
  const first: Hop = { method, url: withoutFragment(request.url), headers, body, reason }
  return { first, signal, owner, redirect }
}

/**
 * The caller's own signal, never the one of a `Request` made here: a Request's signal follows the given one only until
 * the Request is garbage collected. If the caller passed a Request, it is the `owner`, to be kept alive for the call.
 */
function callersSignal(...[input, init]: FetchArguments): { signal?: AbortSignal; owner?: Request } {
  if (init?.signal !== undefined) return init.signal ? { signal: init.signal } : {}
  return input instanceof Request ? { signal: input.signal, owner: input } : {}
}

const redirects = new Set([301, 302, 303, 307, 308])

export function isRedirect({ status }: Response): boolean {
  return redirects.has(status)
}

/** The request that a redirect asks for (WHATWG Fetch §4.4). Undefined without a Location header. */
export function redirected(hop: Hop, { status, headers }: Response): Hop | undefined {
  const location = headers.get('location')
  if (location === null) return undefined
  const address = utf8In(location)
  if (!URL.canParse(address, hop.url)) throw new TypeError('The response redirects to an invalid URL.')
  const url = withoutFragment(new URL(address, hop.url).href)
  // 303 turns the request into a GET. By convention, so do 301 and 302 after a POST.
  const becomesGet = status === 303 ? !['GET', 'HEAD'].includes(hop.method) : status < 303 && hop.method === 'POST'
  if (!becomesGet) return { ...hop, url }
  const kept = [...hop.headers].filter(([name]) => !name.startsWith('content-'))
  return { ...hop, method: 'GET', url, headers: new Headers(kept), body: undefined }
}

function withoutFragment(url: string): string {
  return url.replace(/#.*/s, '')
}

/** Header values are decoded as Latin-1, one character per byte, but Location often contains UTF-8. */
function utf8In(value: string): string {
  return new TextDecoder().decode(Uint8Array.from(value, (character) => character.charCodeAt(0)))
}
