/** The sandbox's upstream, which echoes each request. */
import { isUtf8 } from 'node:buffer'
import { parseJson } from '../platform/json.ts'
import type { HeaderList, Upstream, UpstreamHead, UpstreamRequest } from '../proxy/upstream.ts'

export interface Echo {
  method: string
  path: string
  query: Record<string, string | string[]>
  headers: Record<string, string | string[]>
  body: unknown
}

interface Received {
  method: string
  url: URL
  headers: HeaderList
  body: Buffer | undefined
}

export function echo({ method, url, headers, body }: Received): Echo {
  return {
    method,
    path: url.pathname,
    query: grouped(url.searchParams),
    headers: grouped(headers),
    body: readBody(body),
  }
}

/** The echo as an upstream of the proxy: without a network, but with the real pipeline around it. */
export const echoUpstream: Upstream = {
  whole: (request) => Promise.resolve({ ...head, body: echoed(request), trailers: [] }),
  streamed: (request) => Promise.resolve({ ...head, body: ReadableStream.from([echoed(request)]), trailers: () => [] }),
}

const head: UpstreamHead = {
  status: 200,
  statusText: 'OK',
  headers: [['content-type', 'application/json; charset=utf-8']],
}

function echoed(request: UpstreamRequest): Buffer {
  if (request.method === 'HEAD') return Buffer.alloc(0)
  const headers: HeaderList = [['host', request.url.host], ...request.headers]
  return Buffer.from(JSON.stringify(echo({ ...request, headers })))
}

function readBody(body: Buffer | undefined): unknown {
  if (!body || body.length === 0) return null
  const text = body.toString(isUtf8(body) ? 'utf8' : 'latin1')
  try {
    return parseJson(text)
  } catch {
    return text
  }
}

/** A repeated name gets several values. Built from entries, so that names like __proto__ are safe. */
function grouped(pairs: Iterable<[string, string]>): Record<string, string | string[]> {
  const values = new Map<string, string[]>()
  for (const [name, value] of pairs) {
    const list = values.get(name)
    if (list) list.push(value)
    else values.set(name, [value])
  }
  return Object.fromEntries([...values].map(([name, list]) => [name, list.length === 1 ? (list[0] ?? '') : list]))
}
