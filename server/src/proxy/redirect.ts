import { assertUsable } from '../grants/usable.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Redactor } from '../redaction/redactor.ts'
import type { Call } from './call.ts'
import { judgeUrl, recordedParts } from './destination.ts'
import type { Destination } from './destination.ts'
import { assertMayCall } from './policy.ts'
import type { UpstreamHead } from './upstream.ts'

const redirects = new Set([301, 302, 303, 307, 308])

/** The next call of a redirect. Undefined if the answer is none, or leads to where the grant does not allow calls. */
export function redirected(
  call: Call,
  { status, headers }: UpstreamHead,
  redactor: Pick<Redactor, 'text'>,
  now: Date,
): Call | undefined {
  const location = headers.find(([name]) => name.toLowerCase() === 'location')?.[1]
  if (!redirects.has(status) || location === undefined) return undefined
  // Header values are read as Latin-1, one character per byte. By custom the bytes are UTF-8.
  const url = URL.parse(Buffer.from(location, 'latin1').toString(), call.destination.url.href)
  if (!url) return undefined
  // Fragments are never sent.
  url.hash = ''
  const next = { ...call, ...asRedirected(call, status) }
  // It was sent already.
  if (next.upload) return undefined
  try {
    const destination = judgeUrl(url.href, call.route.plainOrigin, call.route.placed)
    assertUsable({ ...call.standing, isTokenCurrent: true }, now)
    const verdict = assertMayCall(call.standing.grant, call.route.rules, { ...next, destination })
    // Nobody has approved the call that it leads to.
    if (verdict?.action === 'ask') return undefined
    return {
      ...next,
      access: verdict?.access,
      asks: undefined,
      destination,
      facts: { method: next.method, ...recordedParts(redactedParts(destination, redactor)) },
    }
  } catch (error) {
    if (error instanceof ServiceError) return undefined
    throw error
  }
}

/** For the record: unlike the caller's URL, an upstream's may contain the credential. */
function redactedParts({ host, path, queryNames, url }: Destination, { text }: Pick<Redactor, 'text'>): Destination {
  return { url, host: text(host), path: text(path), queryNames: queryNames.map(text) }
}

/** As in fetch (WHATWG Fetch §4.4): 303 turns a call into a GET, and so do 301 and 302 after a POST. */
type Redirected = Pick<Call, 'method' | 'headers' | 'body' | 'upload'>

function asRedirected({ method, headers, body, upload }: Call, status: number): Redirected {
  const becomesGet = status === 303 ? !['GET', 'HEAD'].includes(method) : status < 303 && method === 'POST'
  if (!becomesGet) return { method, headers, body, upload }
  const kept = headers.filter(([name]) => !name.startsWith('content-'))
  return { method: 'GET', headers: kept, body: undefined, upload: undefined }
}
