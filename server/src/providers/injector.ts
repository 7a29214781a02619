/**
 * Puts a credential into calls: in headers, in the query, or as one segment of the path. Everything is judged before,
 * with `{credential}` where the segment will be; what is added differs from the judged URL there and nowhere else.
 */
import { ServiceError } from '../platform/errors.ts'
import type { EgressRequest } from '../platform/egress/egress.ts'
import { memoizeByObject } from '../platform/cache/memoize.ts'
import { Secret } from '../platform/secret.ts'
import { matchesHost } from './api-hosts.ts'
import type { AuthMethod, CredentialPlace } from './auth-method.ts'
import { parseTemplate, render, renderEncoded, renderRedacted } from './template.ts'
import type { TemplatePart } from './template.ts'

/** Stands for the credential in a path. URL parsers escape the braces. */
export const placeholder = '{credential}'
const escapedPlaceholder = '%7Bcredential%7D'

/** The values of a credential's members. */
export type CredentialValues = Readonly<Record<string, Secret>>

/** Of a member that is not secret. */
export function textOfMember(values: CredentialValues, name: string): string {
  return values[name]?.reveal() ?? ''
}

export interface Injector {
  /** Names of headers in lower case, with hyphens for underscores. */
  headers: readonly string[]
  /** The same URL with the placeholder where the credential will be. */
  placed: (url: URL) => URL
  /** What stands in this URL where the credential will be. */
  writtenIn: (url: URL) => string[]
  /** What a call to this URL carries, without the secrets. */
  shownFor: (url: URL) => { in: CredentialPlace['in']; name: string; value: string } | undefined
  /** Adds the credential, and removes the caller's own parameters of that name. Other secrets that this makes. */
  withValues: (values: CredentialValues) => { apply: (request: Sendable) => undefined; derived: Secret[] }
}

type Sendable = Pick<EgressRequest, 'url' | 'headers'>

interface Place extends CredentialPlace {
  parts: TemplatePart[]
  /** In a path: the segments before that of the credential. */
  before: string[]
}

export const injectorOf = memoizeByObject(({ inject }: AuthMethod): Injector => {
  const places = inject.map((place): Place => ({
    ...place,
    parts: parseTemplate(place.template) ?? [],
    before: place.in === 'path' ? place.name.split('/').slice(1, -2) : [],
  }))
  const queryNames = new Set(places.filter((one) => one.in === 'query').map(({ name }) => parameterName(name)))
  const ofKind = (kind: CredentialPlace['in'], url: URL) => places.filter((one) => one.in === kind && isFor(one, url))
  /** `/file/{credential}/` has precedence over `/{credential}/`. */
  const pathPlace = (url: URL) =>
    ofKind('path', url)
      .filter(({ before }) => hasSegment(url.pathname, before))
      .sort((one, other) => other.before.length - one.before.length)[0]
  return {
    headers: places.filter((one) => one.in === 'header').map(({ name }) => name.toLowerCase().replaceAll('_', '-')),
    placed: (url) => {
      const place = pathPlace(url)
      return place ? withSegment(url, place.before.length, escapedPlaceholder) : url
    },
    writtenIn: (url) => {
      const place = pathPlace(url)
      const inPath = place ? [url.pathname.split('/')[place.before.length + 1] ?? ''] : []
      const pairs = [...url.searchParams].filter(([name]) => queryNames.has(parameterName(name)))
      return [...inPath, ...pairs.map(([, value]) => value)]
    },
    shownFor: (url) => {
      const [place] = [pathPlace(url), ...ofKind('header', url), ...ofKind('query', url)].filter((one) => one)
      return place && { in: place.in, name: place.name, value: renderRedacted(place.parts) }
    },
    withValues: (values) => {
      const valueOf = (name: string) => values[name]?.reveal() ?? ''
      const rendered = new Map(places.map((place) => [place, new Secret(render(place.parts, valueOf))]))
      const textOf = (place: Place) => rendered.get(place)?.reveal() ?? ''
      const apply = (request: Sendable): undefined => {
        const { url } = request
        const inPath = pathPlace(url)
        const headers = firstOfEach(ofKind('header', url))
        const query = firstOfEach(ofKind('query', url))
        if (headers.length > 0) {
          request.headers = [...request.headers, ...headers.map((one): [string, string] => [one.name, textOf(one)])]
        }
        if (inPath) request.url = withSegment(url, inPath.before.length, asSegment(textOf(inPath)))
        if (queryNames.size > 0) {
          const added = query.map((one) => `${encodeURIComponent(one.name)}=${encodeURIComponent(textOf(one))}`)
          request.url = withQuery(request.url, queryNames, added)
        }
      }
      const encoded = places.flatMap(({ parts }) => renderEncoded(parts, valueOf))
      return { apply, derived: [...new Set(encoded)].map((text) => new Secret(text)) }
    },
  }
})

/** Of several places with one name, the first one that matches. */
function firstOfEach(places: readonly Place[]): Place[] {
  return places.filter((place, index) => places.findIndex(({ name }) => name === place.name) === index)
}

function isFor({ hosts, paths }: Place, { host, pathname }: URL): boolean {
  const isHost = hosts === null || hosts.some((entry) => matchesHost(entry, host))
  return isHost && (paths === null || paths.some((path) => isPath(path, pathname)))
}

function isPath(pattern: string, path: string): boolean {
  const [wanted, called] = [pattern.split('/'), path.split('/')]
  return (
    wanted.length === called.length &&
    wanted.every((one, index) => one === called[index] || (one === '*' && called[index] !== ''))
  )
}

function hasSegment(path: string, before: readonly string[]): boolean {
  const [, ...segments] = path.split('/')
  return before.every((one, index) => one === segments[index]) && (segments[before.length] ?? '') !== ''
}

function withSegment(url: URL, index: number, segment: string): URL {
  const segments = url.pathname.split('/')
  const changed = segments.with(index + 1, segment)
  const next = new URL(url)
  next.pathname = changed.join('/')
  const found = next.pathname.split('/')
  const isAsMeant = found.length === changed.length && found.every((one, at) => one === changed[at])
  if (isAsMeant && next.host === url.host && next.search === url.search) return next
  throw new ServiceError('internal', { detail: 'the credential would change more of the URL than its segment' })
}

/** RFC 3986 §3.3: these may stand in a segment as they are, and some servers insist on it. */
function asSegment(text: string): string {
  return encodeURIComponent(text).replace(/%(?:3A|40|24|26|2B|2C|3B|3D)/g, decodeURIComponent)
}

function withQuery(url: URL, names: ReadonlySet<string>, added: readonly string[]): URL {
  // Some servers separate parameters by semicolons too.
  const pairs = url.search.slice(1).split(/(?<=[&;])/)
  const kept = pairs.filter((pair) => !names.has(parameterName(/^[^=&;]*/.exec(pair)?.[0] ?? ''))).join('')
  const next = new URL(url)
  next.search = [kept.replace(/[&;]$/, ''), ...added].filter((part) => part !== '').join('&')
  return next
}

/** As the most lenient frameworks read it: `Api.Key[]` is `api_key`. */
function parameterName(written: string): string {
  const decoded = written
    .replaceAll('+', ' ')
    .replace(/%([0-9a-f]{2})/gi, (_whole, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  return (decoded.split('[')[0] ?? '')
    .trim()
    .toLowerCase()
    .replaceAll(/[\s.-]/g, '_')
}
