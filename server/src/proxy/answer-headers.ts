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

/** What a browser would take for ours, or a client act upon, when it stands in an answer of our own origin. */
const notOverOurOrigin = new Set([
  'accept-ch',
  'alt-svc',
  'clear-site-data',
  'content-security-policy',
  'content-security-policy-report-only',
  'critical-ch',
  'document-policy',
  'link',
  // A client that follows it would take our agent's token along.
  'location',
  'nel',
  'origin-agent-cluster',
  'permissions-policy',
  'public-key-pins',
  'public-key-pins-report-only',
  'refresh',
  'report-to',
  'reporting-endpoints',
  'service-worker-allowed',
  'speculation-rules',
  'strict-transport-security',
  'supports-loading-mode',
  'x-content-type-options',
  'x-request-id',
])
const notOverOurOriginPrefixes = ['access-control-', 'cross-origin-']
/** Under it they act on nothing, and whoever reads them for the upstream's finds them. Nobody else may use it. */
const ourPrefix = 'x-sallyport-'

/** A name that comes several times has several values. Built from entries, so that no name can be special. */
export function answerHeaders(list: HeaderList, redactor: Redactor, { keepsLength }: { keepsLength: boolean }) {
  const headers = new Map<string, string | string[]>()
  const hops = namedByConnection(list)
  for (const [name, value] of list) {
    const key = redactor.headerName(name)
    if (hops.includes(key) || (neverReturned.has(key) && !(keepsLength && key === 'content-length'))) continue
    const former = headers.get(key)
    const text = redactor.text(value)
    if (former === undefined) headers.set(key, text)
    else if (typeof former === 'string') headers.set(key, [former, text])
    else former.push(text)
  }
  return Object.fromEntries(headers)
}

export function streamedHeaders(list: HeaderList, redactor: Redactor, { keepsLength = false } = {}): HeaderList {
  const hops = namedByConnection(list)
  return list.flatMap(([name, value]): HeaderList => {
    const key = redactor.headerName(name)
    const isLength = keepsLength && key === 'content-length'
    if (hops.includes(key) || (neverReturned.has(key) && !isLength) || key.startsWith(ourPrefix) || !isName(key)) {
      return []
    }
    const isKeptOff =
      isLength || notOverOurOrigin.has(key) || notOverOurOriginPrefixes.some((prefix) => key.startsWith(prefix))
    return [[isKeptOff ? `${ourPrefix}${key}` : key, sendable(redactor.text(value))]]
  })
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

/** `[REDACTED]` is in no name that can be sent. */
function isName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)
}

/** Node refuses to send the few characters that an upstream might have sent all the same. */
function sendable(value: string): string {
  return value.replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')
}
