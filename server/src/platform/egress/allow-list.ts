/**
 * SALLYPORT_EGRESS_ALLOW: destinations that may be reached although they are not public. `host:port` applies to that host
 * and port whoever supplied the URL; an address range applies only to URLs that the operator supplied.
 */
import { isIPv4 } from 'node:net'
import { contains, judgeAddress, parseAddress, parseRange } from './address.ts'
import type { Range } from './address.ts'

/** Who supplied the URL: the operator (settings, presets, an admin) or a stranger (an agent's proposal or callback, a device's push endpoint). */
export type SuppliedBy = 'operator' | 'stranger'

export type AllowEntry = { kind: 'place'; host: string; port: number } | { kind: 'range'; range: Range }

export interface Place {
  /** As in a URL, without brackets. */
  host: string
  port: number
}

export interface AllowList {
  /** Whether the list has this host and port. */
  listsPlace: (place: Place) => boolean
  /** Why this address is refused for this place; undefined if it is allowed. */
  judge: (address: string, place: Place, suppliedBy: SuppliedBy) => string | undefined
  /** Whether an entry of the list allows the address, even if it is public anyway. */
  listsAddress: (address: string, place: Place, suppliedBy: SuppliedBy) => boolean
}

export function placeOf({ hostname, port }: URL): Place {
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

export function createAllowList(entries: readonly AllowEntry[]): AllowList {
  const listsPlace = ({ host, port }: Place) =>
    entries.some((entry) => entry.kind === 'place' && entry.host === host && entry.port === port)
  const listsAddress: AllowList['listsAddress'] = (text, place, suppliedBy) => {
    const address = parseAddress(text)
    if (!address) return false
    if (listsPlace(place)) return true
    return suppliedBy === 'operator' && entries.some((one) => one.kind === 'range' && contains(one.range, address))
  }
  return {
    listsPlace,
    listsAddress,
    judge: (address, place, suppliedBy) =>
      listsAddress(address, place, suppliedBy) ? undefined : judgeAddress(address),
  }
}
