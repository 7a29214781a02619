/** Where a call goes, as far as the URL alone can tell. Which places a grant covers is judged in policy.ts. */
import { ServiceError } from '../platform/errors.ts'

/** What is sent is this URL, the one that was judged, never the caller's text. */
export interface Destination {
  url: URL
  host: string
  path: string
  /** For the record: which parameters, not what they said. */
  queryNames: string[]
}

const maxUrlLength = 8192
const maxHostLength = 253

/** What a name in DNS is made of, or an IPv6 address. Others, and longer ones, are no host that anybody has. */
const plainHost = /^(?:\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?)$/

/** Our own origin is reached as it is, also where it is http: nothing leaves the process. */
export function judgeUrl(text: string, plainOrigin: string | undefined): Destination {
  if (text.length > maxUrlLength) throw invalidUrl(`The URL is longer than ${maxUrlLength} characters.`)
  const url = URL.parse(text)
  if (!url) throw invalidUrl('The URL can not be parsed. Give a whole https URL.')
  if (url.protocol !== 'https:' && url.origin !== plainOrigin) throw invalidUrl('The URL is not https.')
  if (url.username !== '' || url.password !== '') {
    throw invalidUrl('The URL holds a user name or password. Leave them out.')
  }
  if (text.includes('#')) throw invalidUrl('The URL holds a fragment. Leave it out.')
  // They are dropped or turned into slashes by some, and not by others.
  if (/[\p{Cc}]|^[^?]*\\/u.test(text)) throw invalidUrl('The URL holds a backslash or a control character. Escape it.')
  // A look-alike letter or an odd slash may read as another place than the one that is called.
  const isHost = url.hostname.length <= maxHostLength && plainHost.test(url.hostname)
  if (!isHost || !isWrittenAs(text, `${url.protocol}//${url.host}`)) {
    throw invalidUrl(`The URL is not written as it would be sent. Write it as ${url.protocol}//host/path, in ASCII.`)
  }
  return { url, host: url.host, path: url.pathname, queryNames: namesIn(url) }
}

function isWrittenAs(text: string, origin: string): boolean {
  const written = text.slice(0, origin.length)
  const isEnded = /^(?:$|[/?:])/.test(text.slice(origin.length, origin.length + 1))
  return isEnded && /^[\x21-\x7e]+$/.test(written) && written.toLowerCase() === origin
}

function namesIn(url: URL): string[] {
  return url.search === '' ? [] : [...new Set(url.searchParams.keys())]
}

function invalidUrl(message: string): ServiceError {
  return new ServiceError('invalid_url', { field: 'url', message })
}

const maxHost = 255

const usualLengths = { path: 1024, names: 50, name: 100 }
/** For sandbox calls and refusals, which no person's approval is behind. */
const briefLengths = { path: 200, names: 5, name: 40 }

interface RecordedParts {
  host: string
  path: string
  query: string[]
}

/** What is put on record of a destination. Longer parts are cut: an agent must not be able to fill the disk with them. */
export function recordedParts({ host, path, queryNames }: Destination): RecordedParts {
  return cutParts({ host, path, query: queryNames }, usualLengths)
}

export function briefly<Facts extends object>(facts: Facts & Partial<RecordedParts>): Facts {
  const { host, path, query } = facts
  if (host === undefined || path === undefined || query === undefined) return facts
  return { ...facts, ...cutParts({ host, path, query }, briefLengths) }
}

function cutParts({ host, path, query }: RecordedParts, lengths: typeof usualLengths): RecordedParts {
  const rest = query.length > lengths.names ? [`… ${query.length - lengths.names} more`] : []
  const names = query.slice(0, lengths.names).map((name) => cut(name, lengths.name))
  return { host: cut(host, maxHost), path: cut(path, lengths.path), query: [...names, ...rest] }
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text
}
