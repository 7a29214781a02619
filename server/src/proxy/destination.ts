/** Where a call goes, by its URL alone. Which destinations a grant covers is decided in policy.ts. */
import { ServiceError } from '../platform/errors.ts'
import type { Facts } from './call.ts'

/** The request goes to this parsed URL, the one that was checked, never to the caller's text. */
export interface Destination {
  url: URL
  host: string
  path: string
  /** For the record: names of parameters, not their values. */
  queryNames: string[]
}

const maxUrlLength = 8192
const maxHostLength = 253

/** Characters of a DNS name, or an IPv6 address. No other host exists. */
const plainHost = /^(?:\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?)$/

/**
 * `plainOrigin` may be http: it is our own, and the request never leaves the process. `placed` replaces a segment that is
 * part of the credential, before anything is decided or recorded.
 */
export function judgeUrl(text: string, plainOrigin: string | undefined, placed?: (url: URL) => URL): Destination {
  if (text.length > maxUrlLength) throw invalidUrl(`The URL is longer than ${maxUrlLength} characters.`)
  const url = URL.parse(text)
  if (!url) throw invalidUrl('The URL cannot be parsed. Use an absolute https URL.')
  if (url.protocol !== 'https:' && url.origin !== plainOrigin) throw invalidUrl('The URL is not https.')
  if (url.username !== '' || url.password !== '') {
    throw invalidUrl('The URL contains a user name or password. Remove it.')
  }
  if (text.includes('#')) throw invalidUrl('The URL has a fragment. Remove it.')
  // Some parsers drop them or turn them into slashes, others don't.
  if (/[\p{Cc}]|^[^?]*\\/u.test(text))
    throw invalidUrl('The URL contains a backslash or a control character. Percent-encode it.')
  // A look-alike letter or an odd slash may read as another host than the one that is called.
  const isHost = url.hostname.length <= maxHostLength && plainHost.test(url.hostname)
  if (!isHost || !isWrittenAs(text, `${url.protocol}//${url.host}`)) {
    throw invalidUrl(`The URL is not normalized. Write it as ${url.protocol}//host/path, in ASCII.`)
  }
  const judged = placed ? placed(url) : url
  return { url: judged, host: judged.host, path: judged.pathname, queryNames: namesIn(judged) }
}

function isWrittenAs(text: string, origin: string): boolean {
  const written = text.slice(0, origin.length)
  const isEnded = /^(?:$|[/?:])/.test(text.slice(origin.length, origin.length + 1))
  return isEnded && /^[\x21-\x7e]+$/.test(written) && written.toLowerCase() === origin
}

function namesIn(url: URL): string[] {
  return url.search === '' ? [] : [...new Set(url.searchParams.keys())]
}

export function invalidUrl(message: string): ServiceError {
  return new ServiceError('invalid_url', { field: 'url', message })
}

const maxHost = 255

const usualLengths = { path: 1024, names: 50, name: 100 }
/** For sandbox calls and refusals, which no user approved. */
const briefLengths = { path: 200, names: 5, name: 40 }

type RecordedParts = Omit<Facts, 'method'>

/** What is recorded of a destination. Long parts are cut: an agent must not be able to fill the disk with them. */
export function recordedParts({ host, path, queryNames }: Destination): RecordedParts {
  return cutParts({ host, path, query: queryNames }, usualLengths)
}

export function shortened<Some extends Partial<Facts>>(facts: Some): Some {
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
