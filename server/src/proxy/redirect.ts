import { assertUsable } from '../grants/usable.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Redactor } from '../redaction/redactor.ts'
import type { Call } from './call.ts'
import { judgeUrl, recordedParts } from './destination.ts'
import type { Destination } from './destination.ts'
import { assertMayCall } from './policy.ts'
import type { UpstreamHead } from './upstream.ts'

const redirects = new Set([301, 302, 303, 307, 308])

/** The call that an answer leads to; undefined where it leads nowhere, or to where the grant does not reach. */
export function redirected(
  call: Call,
  { status, headers }: UpstreamHead,
  redactor: Pick<Redactor, 'text'>,
  now: Date,
): Call | undefined {
  const location = headers.find(([name]) => name.toLowerCase() === 'location')?.[1]
  if (!redirects.has(status) || location === undefined) return undefined
  // Header values come as Latin-1, one character a byte; what stands in them by custom is UTF-8.
  const url = URL.parse(Buffer.from(location, 'latin1').toString(), call.destination.url.href)
  if (!url) return undefined
  // Its fragment is for whoever shows the answer, and is never sent.
  url.hash = ''
  const next = { ...call, ...asRedirected(call, status) }
  try {
    const destination = judgeUrl(url.href, call.route.plainOrigin)
    assertUsable({ ...call.standing, isTokenCurrent: true }, now)
    assertMayCall(call.standing.grant, call.route.rules, { ...next, destination })
    return { ...next, destination, facts: { method: next.method, ...recordedParts(shown(destination, redactor)) } }
  } catch (error) {
    if (error instanceof ServiceError) return undefined
    throw error
  }
}

/** For the record: unlike the caller's own words, what an upstream says can hold the credential. */
function shown({ host, path, queryNames, url }: Destination, { text }: Pick<Redactor, 'text'>): Destination {
  return { url, host: text(host), path: text(path), queryNames: queryNames.map(text) }
}

/** What fetch does (WHATWG Fetch §4.4): 303 asks for a GET, and so, by long custom, do 301 and 302 after a POST. */
function asRedirected({ method, headers, body }: Call, status: number): Pick<Call, 'method' | 'headers' | 'body'> {
  const becomesGet = status === 303 ? !['GET', 'HEAD'].includes(method) : status < 303 && method === 'POST'
  if (!becomesGet) return { method, headers, body }
  return { method: 'GET', headers: headers.filter(([name]) => !name.startsWith('content-')), body: undefined }
}
