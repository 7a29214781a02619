/** A fetch for libraries that expect one. The response is buffered before they see it. */
import type { StreamedAnswer } from './answers.ts'
import type { SuppliedBy } from './destinations.ts'
import { acceptedEncodings, readDecoded } from './decoding.ts'
import type { EgressRequest } from './egress.ts'
import type { EgressLimits } from './exchange.ts'
import { invalidUrl, unreachable } from './failures.ts'
import type { HeaderPairs } from './header-lists.ts'

/** Redirects are never followed, whatever `redirect` says. */
type FetchInit = {
  [Member in 'method' | 'headers' | 'body' | 'signal' | 'duplex' | 'redirect']?: RequestInit[Member] | undefined
}

export type EgressFetch = (url: string, init?: FetchInit) => Promise<Response>

export function createFetch(
  send: (request: EgressRequest) => Promise<StreamedAnswer>,
  suppliedBy: SuppliedBy,
  limits: EgressLimits,
): EgressFetch {
  return async (text, init = {}) => {
    const url = URL.parse(text)
    if (!url) throw invalidUrl('The URL cannot be parsed. Use an absolute https URL.')
    const { method = 'GET', signal } = init
    const { headers, body } = await outgoing(init)
    const abort = signal ? { signal } : {}
    const answer = await send({ url, method, headers, body, suppliedBy, limits, ...abort })
    return readWhole(answer, { method, host: url.host, maxBytes: limits.maxBytes })
  }
}

/** Lets a `Request` parse headers and body, which also sets the content type of a form. */
async function outgoing({ headers, body, duplex }: FetchInit): Promise<Pick<EgressRequest, 'headers' | 'body'>> {
  const form = { method: 'POST', headers: headers ?? {}, body: body ?? null, ...(duplex ? { duplex } : {}) }
  const request = new Request('https://localhost', form)
  if (!request.headers.has('accept')) request.headers.set('accept', '*/*')
  request.headers.set('accept-encoding', acceptedEncodings)
  const bytes = body === undefined || body === null ? undefined : Buffer.from(await request.arrayBuffer())
  return { headers: [...request.headers], body: bytes }
}

async function readWhole(
  { status, headers, body }: StreamedAnswer,
  { method, host, maxBytes }: { method: string; host: string; maxBytes: number },
): Promise<Response> {
  const encodings = headers.filter(([name]) => name.toLowerCase() === 'content-encoding').map(([, value]) => value)
  // A response without a body may still have a Content-Encoding.
  const isEmpty = method.toUpperCase() === 'HEAD' || [204, 205, 304].includes(status)
  try {
    const bytes = await readDecoded(body, isEmpty ? '' : encodings.join(), maxBytes, host)
    return responseOf(status, headers, isEmpty ? null : Uint8Array.from(bytes), host)
  } finally {
    body.destroy()
  }
}

function responseOf(status: number, headers: HeaderPairs, body: Uint8Array<ArrayBuffer> | null, host: string) {
  const framing = /^(?:content-encoding|content-length|transfer-encoding|connection|keep-alive)$/i
  try {
    return new Response(body, { status, headers: headers.filter(([name]) => !framing.test(name)) })
  } catch {
    throw unreachable(host, 'a status or header that is none')
  }
}
