/** What libraries that expect a fetch are given. The answer is read whole before they see it. */
import { ServiceError } from '../errors.ts'
import type { SuppliedBy } from './allow-list.ts'
import { acceptedEncodings, readDecoded } from './decoding.ts'
import type { EgressRequest } from './egress.ts'
import type { Answer, EgressLimits } from './exchange.ts'
import { unreachable } from './failures.ts'

export interface FetchInit {
  method?: string | undefined
  headers?: RequestInit['headers']
  body?: RequestInit['body']
  signal?: AbortSignal | null | undefined
  duplex?: 'half' | undefined
  /** Redirects are never followed, whatever stands here. */
  redirect?: RequestInit['redirect']
}

export type EgressFetch = (url: string, init?: FetchInit) => Promise<Response>

const ownHeaders: Record<string, string> = { accept: '*/*', 'user-agent': 'sallyport' }

export function createFetch(
  send: (request: EgressRequest) => Promise<Answer>,
  suppliedBy: SuppliedBy,
  limits: EgressLimits,
): EgressFetch {
  return async (text, init = {}) => {
    const url = URL.parse(text)
    if (!url) throw new ServiceError('invalid_url', { message: 'The URL can not be parsed. Give a whole https URL.' })
    const { method = 'GET', signal } = init
    const { headers, body } = await outgoing(init)
    const abort = signal ? { signal } : {}
    const answer = await send({ url, method, headers, body, suppliedBy, limits, ...abort })
    return whole(answer, url.host, limits.maxBytes)
  }
}

/** A Request of its own knows every form of headers and body, and the content type that goes with a form. */
async function outgoing({ headers, body, duplex }: FetchInit): Promise<Pick<EgressRequest, 'headers' | 'body'>> {
  const form = { method: 'POST', headers: headers ?? {}, body: body ?? null, ...(duplex ? { duplex } : {}) }
  const request = new Request('https://localhost', form)
  for (const [name, value] of Object.entries(ownHeaders)) {
    if (!request.headers.has(name)) request.headers.set(name, value)
  }
  request.headers.set('accept-encoding', acceptedEncodings)
  const bytes = body === undefined || body === null ? undefined : Buffer.from(await request.arrayBuffer())
  return { headers: [...request.headers], body: bytes }
}

async function whole({ status, headers, body }: Answer, host: string, maxBytes: number): Promise<Response> {
  const named = (wanted: string) => headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value)
  const bytes = await readDecoded(body, named('content-encoding').join(), maxBytes, host)
  const framing = /^(?:content-encoding|content-length|transfer-encoding|connection|keep-alive)$/i
  try {
    const isEmpty = [204, 205, 304].includes(status)
    const kept = headers.filter(([name]) => !framing.test(name))
    return new Response(isEmpty ? null : Uint8Array.from(bytes), { status, headers: kept })
  } catch {
    // A status or a header that a Response can not hold.
    throw unreachable(host, 'no proper HTTP answer')
  }
}
