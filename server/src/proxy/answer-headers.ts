/** Which of an upstream's headers an agent gets, and how. Names and values have passed the redactor. */
import type { Redactor } from '../redaction/redactor.ts'
import type { HeaderList } from './upstream.ts'

/** Cookies would act for the account; the rest speaks of a connection, or of an encoding, that is not the agent's. */
const neverReturned = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'set-cookie',
  'set-cookie2',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Ours in every answer, or about how our own origin is reached, which other clients than browsers remember too. */
const alwaysPrefixed = new Set([
  'alt-svc',
  'content-security-policy',
  'public-key-pins',
  'public-key-pins-report-only',
  'strict-transport-security',
  'x-content-type-options',
  'x-request-id',
])

/** What a browser acts on by itself, for our origin, when it stands in an answer of ours. */
const prefixedForBrowsers = new Set([
  'accept-ch',
  'activate-storage-access',
  'clear-site-data',
  'content-security-policy-report-only',
  'critical-ch',
  'document-policy',
  'link',
  'location',
  'nel',
  'origin-agent-cluster',
  'permissions-policy',
  'refresh',
  'report-to',
  'reporting-endpoints',
  'service-worker-allowed',
  'set-login',
  'speculation-rules',
  'supports-loading-mode',
  'timing-allow-origin',
  'use-as-dictionary',
  // A browser would ask its user for a password, in our name.
  'www-authenticate',
])
const browserPrefixes = ['access-control-', 'cross-origin-']
/** Under it a header acts on nothing, and a reader still finds it. No upstream may use it. */
const ourPrefix = 'x-sallyport-'

/** How a streamed answer names the upstream's headers. */
export interface HeaderNaming {
  /** A browser made the call, which would act on them; or the SDK, which takes the prefix off again. */
  prefixed: boolean
  /** Where this service is. A location that leads there would make the client call us in the upstream's name. */
  ownHosts: readonly string[]
}

/** A name that comes several times has several values. Built from entries, so that no name can be special. */
export function answerHeaders(list: HeaderList, redactor: Redactor, { keepsLength }: { keepsLength: boolean }) {
  const headers = new Map<string, string | string[]>()
  const hops = namedByConnection(list)
  for (const [name, value] of list) {
    const key = redactor.headerName(name)
    const isLength = keepsLength && key === 'content-length'
    if (hops.includes(key) || (neverReturned.has(key) && !isLength) || key.startsWith(ourPrefix)) continue
    const former = headers.get(key)
    const text = redactor.text(value)
    if (former === undefined) headers.set(key, text)
    else if (typeof former === 'string') headers.set(key, [former, text])
    else former.push(text)
  }
  return Object.fromEntries(headers)
}

interface Streamed {
  naming: HeaderNaming
  /** Where the answer came from. */
  url: URL
  keepsLength?: boolean
}

export function streamedHeaders(
  list: HeaderList,
  redactor: Redactor,
  { naming, url, keepsLength = false }: Streamed,
): HeaderList {
  const hops = namedByConnection(list)
  return list.flatMap(([name, value]): HeaderList => {
    const key = redactor.headerName(name)
    const isLength = keepsLength && key === 'content-length'
    if (hops.includes(key) || (neverReturned.has(key) && !isLength) || key.startsWith(ourPrefix) || !isName(key)) {
      return []
    }
    const text = redactor.text(value)
    const location = key === 'location' && !naming.prefixed ? locationFor(text, url, naming.ownHosts) : undefined
    if (location !== undefined) return [[key, sendable(redactor.text(location))]]
    const isPrefixed = isLength || key === 'location' || needsPrefix(key, naming)
    return [[isPrefixed ? `${ourPrefix}${key}` : key, sendable(text)]]
  })
}

function needsPrefix(key: string, { prefixed }: HeaderNaming): boolean {
  const isForBrowsers = prefixedForBrowsers.has(key) || browserPrefixes.some((prefix) => key.startsWith(prefix))
  return alwaysPrefixed.has(key) || (prefixed && isForBrowsers)
}

/** A client reads a relative location as one of ours, so it is made whole. Undefined where it leads to us, or nowhere. */
function locationFor(value: string, base: URL, ownHosts: readonly string[]): string | undefined {
  // Header values come as Latin-1, one character a byte; what stands in them by custom is UTF-8.
  const url = URL.parse(Buffer.from(value, 'latin1').toString(), base.href)
  if (!url || ownHosts.includes(url.host)) return undefined
  return URL.canParse(value) ? value : url.href
}

export function contentEncodingOf(headers: HeaderList): string {
  const values: string[] = []
  for (const [name, value] of headers) if (isNamed(name, 'content-encoding')) values.push(value)
  return values.join()
}

export function contentTypeOf(headers: HeaderList): string {
  return headers.find(([name]) => isNamed(name, 'content-type'))?.[1] ?? ''
}

/** Most are told apart by their length alone. */
function isNamed(name: string, wanted: string): boolean {
  return name.length === wanted.length && name.toLowerCase() === wanted
}

/** Headers that were meant for this connection alone (RFC 9110 §7.6.1). */
function namedByConnection(list: HeaderList): string[] {
  const named: string[] = []
  for (const [name, value] of list) {
    if (isNamed(name, 'connection')) for (const one of value.split(',')) named.push(one.trim().toLowerCase())
  }
  return named
}

/** Neither is a name with `[REDACTED]` in it, nor one that a plain object can't have as a member. */
function isName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name) && name !== '__proto__'
}

/** Replaces the few characters that an upstream may have sent although Node refuses to send them. */
export function sendable(value: string): string {
  return value.replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')
}
