/** Which of an upstream's headers an agent gets, and under which name. All are redacted. */
import type { Redactor } from '../redaction/redactor.ts'
import type { HeaderList } from './upstream.ts'

/** Cookies are credentials of the account. The others describe the upstream's connection or encoding, not ours. */
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

/** Headers that we set ourselves, or that clients other than browsers remember too, for our origin. */
const alwaysPrefixed = new Set([
  'alt-svc',
  'content-security-policy',
  'public-key-pins',
  'public-key-pins-report-only',
  'strict-transport-security',
  'x-content-type-options',
  'x-request-id',
])

/** Headers that a browser would apply to our origin. */
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
  // A browser would ask its user for a password, on our behalf.
  'www-authenticate',
])
const browserPrefixes = ['access-control-', 'cross-origin-']
/** Makes a header inert but still readable. An upstream's own headers with this prefix are dropped. */
const ourPrefix = 'x-sallyport-'

/** Whom a streamed answer is for, and so how it names the upstream's headers. */
export type HeaderNaming =
  /** A client of `POST /v4/proxy`. */
  | {
      for: 'caller'
      /** For a browser, which would apply them, and for the SDK, which removes the prefix again. */
      isPrefixed: boolean
      /** Hosts of this service. A redirect to them would make the client call our own routes. */
      ownHosts: readonly string[]
    }
  /** A tool that calls a base URL. `addressOf` is the base URL of another URL of the grant; undefined: it has none. */
  | { for: 'base_url'; addressOf: (url: URL) => string | undefined }
  /** A tool that calls the upstream's own URL, through the gateway. */
  | { for: 'tunnel' }

/** For an envelope. A repeated header has an array of values. Built from entries, so that no name is special. */
export function answerHeaders(list: HeaderList, redactor: Redactor, keepsLength: boolean) {
  const headers = new Map<string, string | string[]>()
  for (const [key, text] of returnedHeaders(list, redactor, keepsLength)) {
    const former = headers.get(key)
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
  return namedHeaders(returnedHeaders(list, redactor, keepsLength), naming, url).map(([key, text]) => {
    // A URL that was made absolute may have joined what was in pieces before.
    const isChanged = key === 'location' || key === 'link'
    return [key, sendable(isChanged ? redactor.text(text) : text)]
  })
}

/** `list` is redacted, `url` is where it came from. */
export function namedHeaders(list: HeaderList, naming: HeaderNaming, url: URL): HeaderList {
  return list.flatMap(([key, text]): HeaderList => {
    if (!isName(key)) return []
    if (naming.for === 'caller') return [namedForCaller(key, text, naming, url)]
    if (key === 'alt-svc') return []
    if (naming.for === 'tunnel') return [[key, text]]
    if (key === 'location') return [addressed(key, text, naming, url)]
    if (key === 'link') return addressedLinks(text, naming, url)
    if (key === 'cache-control') return [[key, inPrivate(text)]]
    return [[needsPrefix(key, true) && key !== 'www-authenticate' ? `${ourPrefix}${key}` : key, text]]
  })
}

function namedForCaller(
  key: string,
  text: string,
  { isPrefixed, ownHosts }: Extract<HeaderNaming, { for: 'caller' }>,
  url: URL,
): HeaderList[number] {
  const location = key === 'location' && !isPrefixed ? locationFor(text, url, ownHosts) : undefined
  if (location !== undefined) return [key, location]
  const isRenamed = key === 'content-length' || key === 'location' || needsPrefix(key, isPrefixed)
  return [isRenamed ? `${ourPrefix}${key}` : key, text]
}

/** A cache in front of this service would otherwise answer anyone, without a key. */
function inPrivate(text: string): string {
  const directives = text.split(',').map((one) => one.trim())
  return ['private', ...directives.filter((one) => !/^(?:public|private|s-maxage)\b/i.test(one))].join(', ')
}

type ForBaseUrl = Extract<HeaderNaming, { for: 'base_url' }>

/** A tool that follows it sends its key there, so it never leads to another host. */
function addressed(key: string, text: string, { addressOf }: ForBaseUrl, base: URL): HeaderList[number] {
  const url = resolved(text, base)
  const address = url ? addressOf(url) : undefined
  return address === undefined ? [`${ourPrefix}${key}`, text] : [key, address]
}

/** RFC 8288 §3. A target is between angle brackets, which no parameter can have outside of quotes. */
function addressedLinks(text: string, naming: ForBaseUrl, base: URL): HeaderList {
  const links = text.match(/<[^<>]*>[^<]*/g) ?? []
  return links.map((link): HeaderList[number] => {
    const end = link.indexOf('>')
    const parameters = link.slice(end + 1).trim()
    const rest = parameters.endsWith(',') ? parameters.slice(0, -1).trimEnd() : parameters
    const [key, address] = addressed('link', link.slice(1, end), naming, base)
    return [key, `<${address}>${rest}`]
  })
}

/** Redacted, with names in lower case. */
function returnedHeaders(list: HeaderList, redactor: Redactor, keepsLength: boolean): HeaderList {
  const headers: HeaderList = []
  const hopByHop = namedByConnection(list)
  for (const [name, value] of list) {
    const key = redactor.headerName(name)
    const isLength = keepsLength && key === 'content-length'
    if (hopByHop.includes(key) || (neverReturned.has(key) && !isLength) || key.startsWith(ourPrefix)) continue
    headers.push([key, redactor.text(value)])
  }
  return headers
}

function needsPrefix(key: string, isForBrowser: boolean): boolean {
  const actsOnBrowsers = prefixedForBrowsers.has(key) || browserPrefixes.some((prefix) => key.startsWith(prefix))
  return alwaysPrefixed.has(key) || (isForBrowser && actsOnBrowsers)
}

/**
 * Absolute, because a client would resolve a relative one against our URL. Undefined if it is invalid or leads to us.
 */
function locationFor(value: string, base: URL, ownHosts: readonly string[]): string | undefined {
  const url = resolved(value, base)
  if (!url || ownHosts.includes(url.host)) return undefined
  return URL.canParse(value) ? value : url.href
}

/** Header values are read as Latin-1, one character per byte. By custom the bytes are UTF-8. */
function resolved(value: string, base: URL): URL | null {
  return URL.parse(Buffer.from(value, 'latin1').toString(), base.href)
}

export function contentEncodingOf(headers: HeaderList): string {
  const values: string[] = []
  for (const [name, value] of headers) if (isNamed(name, 'content-encoding')) values.push(value)
  return values.join()
}

export function contentTypeOf(headers: HeaderList): string {
  return headers.find(([name]) => isNamed(name, 'content-type'))?.[1] ?? ''
}

/** Compares the length first, which is enough for most names. */
function isNamed(name: string, wanted: string): boolean {
  return name.length === wanted.length && name.toLowerCase() === wanted
}

/** Hop-by-hop headers (RFC 9110 §7.6.1). */
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
