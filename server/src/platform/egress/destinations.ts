/**
 * Which destinations may be called. URLs are judged already parsed: unusual spellings of an address (0x7f000001, 127.1,
 * full-width digits) are normalized to that address, and international names to their xn-- form. The same parsed URL is
 * used to connect, so the two can't differ.
 *
 * SALLYPORT_EGRESS_ALLOW lists destinations that may be reached although they are not public. `host:port` applies to that
 * host and port whoever supplied the URL; an address range applies only to URLs that the operator supplied.
 */
import { isIP, isIPv4 } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { contains, judgeAddress, parseAddress, parseRange } from '@sallyport/protocol/public-address'
import type { Range } from '@sallyport/protocol/public-address'
import { invalidUrl, notAllowed } from './failures.ts'
import type { Lookup } from './resolver.ts'

/** Who supplied the URL: the operator (settings, presets, an admin) or a stranger (an agent's proposal or callback, a device's push endpoint). */
export type SuppliedBy = 'operator' | 'stranger'

export type AllowEntry = { kind: 'place'; host: string; port: number } | { kind: 'range'; range: Range }

export interface Place {
  /** As in a URL, without brackets. */
  host: string
  port: number
}

function placeOf({ hostname, port }: URL): Place {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return { host, port: port === '' ? 443 : Number(port) }
}

/** The URL parser normalizes addresses: IPv6 in brackets, IPv4 as four decimal numbers. */
export function isAddress({ hostname }: URL): boolean {
  return hostname.startsWith('[') || isIPv4(hostname)
}

/** Throws a TypeError unless the text is `host:port`, an address or a range. */
export function parseAllowEntry(text: string): AllowEntry {
  const range = parseRange(text)
  if (range) return { kind: 'range', range }
  const [, host = '', port = ''] = /^([\w.-]+|\[[\da-f:.]+\]):(\d{1,5})$/i.exec(text) ?? []
  const url = URL.parse(`https://${host}:${port}`)
  // Refuse hosts that the URL parser would rewrite, such as 127.1: the operator may mean something else.
  const isPlain = url?.hostname === host.toLowerCase() || host.startsWith('[')
  if (!url || !isPlain || host.endsWith('.') || Number(port) === 0) {
    throw new TypeError(
      'host:port (such as idp.internal:8443 or [fd00::1]:443), addresses or CIDR ranges, separated by commas',
    )
  }
  return { kind: 'place', ...placeOf(url) }
}

/** How long to wait for a name server when a name is judged in advance. */
const patienceMs = 5000

export type Destinations = ReturnType<typeof createDestinations>

/** Whether an entry names the place itself. */
export function namesPlace(entries: readonly AllowEntry[], { host, port }: Place): boolean {
  return entries.some((entry) => entry.kind === 'place' && entry.host === host && entry.port === port)
}

/** Whether a range among the entries has the address. */
export function hasAddress(entries: readonly AllowEntry[], text: string): boolean {
  const address = parseAddress(text)
  return address !== undefined && entries.some((one) => one.kind === 'range' && contains(one.range, address))
}

export function createDestinations(allow: readonly AllowEntry[], lookup: Lookup) {
  const listsPlace = (place: Place) => namesPlace(allow, place)

  /** Whether an entry of the list allows the address, even if it is public anyway. */
  const listsAddress = (text: string, place: Place, suppliedBy: SuppliedBy): boolean => {
    if (!parseAddress(text)) return false
    return listsPlace(place) || (suppliedBy === 'operator' && hasAddress(allow, text))
  }

  /** Why this address is refused for this place; undefined if it is allowed. */
  const judge = (address: string, place: Place, suppliedBy: SuppliedBy): string | undefined =>
    listsAddress(address, place, suppliedBy) ? undefined : judgeAddress(address)

  const judgeUrl = (url: URL, suppliedBy: SuppliedBy, field?: string): void => {
    const invalid = (message: string) => invalidUrl(message, field)
    if (url.protocol !== 'https:') throw invalid('The URL is not https.')
    if (url.username !== '' || url.password !== '')
      throw invalid('The URL contains a user name or password. Remove it.')
    // `example.com.` is a second name for the same host and would bypass lists of hosts.
    if (url.hostname.endsWith('.')) throw invalid("The URL's host ends with a dot. Remove it.")
    const place = placeOf(url)
    const refused = (reason: string) => notAllowed(url.host, reason, field)
    if (suppliedBy === 'stranger' && place.port !== 443 && !listsPlace(place)) throw refused('port')
    const reason = isAddress(url) ? judge(place.host, place, suppliedBy) : undefined
    if (reason !== undefined) throw refused(reason)
  }

  const isListedPageHere = (url: URL): boolean => {
    if (url.protocol !== 'http:' || url.port === '' || url.username !== '' || url.password !== '') return false
    return ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname) && listsPlace(placeOf(url))
  }

  return {
    judge,
    listsAddress,
    listsPlace,

    /** Throws if a call would be refused because of the URL's text (scheme, userinfo, literal address, port), without DNS. */
    judgeUrl,

    /**
     * The same for a page that only a person's browser opens. On the person's own machine it may be http, if the operator
     * has listed its host and port: browsers trust http on loopback like https.
     */
    judgePageUrl: (url: URL, suppliedBy: SuppliedBy, field?: string): void => {
      if (suppliedBy !== 'operator' || !isListedPageHere(url)) judgeUrl(url, suppliedBy, field)
    },

    /**
     * The same for the addresses that the URL's name resolves to now. This only gives an early error: every connection is
     * checked again. A name that does not resolve now is accepted.
     */
    judgeName: async (url: URL, suppliedBy: SuppliedBy, field: string): Promise<void> => {
      const place = placeOf(url)
      if (isIP(place.host) !== 0) return
      const late = sleep(patienceMs, [], { ref: false })
      for (const { address } of await Promise.race([lookup(place.host, suppliedBy).catch(() => []), late])) {
        const reason = judge(address, place, suppliedBy)
        if (reason !== undefined) throw notAllowed(place.host, reason, field)
      }
    },
  }
}
