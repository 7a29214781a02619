/**
 * What the operator listed in SALLYPORT_EGRESS_ALLOW: places that may be reached although they are not public.
 * A `host:port` holds for that host and port, whoever wrote the URL; a range of addresses for the operator's URLs alone.
 */
import { isIPv4 } from 'node:net'
import { contains, judgeAddress, parseAddress, parseRange } from './address.ts'
import type { Range } from './address.ts'

/** Who wrote the URL: the operator (settings, presets, an admin) or a stranger (an agent's proposal or callback, a device's push endpoint). */
export type SuppliedBy = 'operator' | 'stranger'

export type AllowEntry = { kind: 'place'; host: string; port: number } | { kind: 'range'; range: Range }

export interface Place {
  /** As in a URL, without brackets. */
  host: string
  port: number
}

export interface AllowList {
  /** That host and port stand in the list. */
  listsPlace: (place: Place) => boolean
  /** What speaks against reaching this address for this place; undefined where nothing does. */
  judge: (address: string, place: Place, suppliedBy: SuppliedBy) => string | undefined
  /** True where an entry, and not only its being public, lets the address be reached. */
  listsAddress: (address: string, place: Place, suppliedBy: SuppliedBy) => boolean
}

export function placeOf({ hostname, port }: URL): Place {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return { host, port: port === '' ? 443 : Number(port) }
}

/** A URL writes an address in one way only: with brackets, or as four numbers. */
export function isAddress({ hostname }: URL): boolean {
  return hostname.startsWith('[') || isIPv4(hostname)
}

/** Throws a TypeError for what is neither `host:port`, an address nor a range. */
export function parseAllowEntry(text: string): AllowEntry {
  const range = parseRange(text)
  if (range) return { kind: 'range', range }
  const [, host = '', port = ''] = /^([\w.-]+|\[[\da-f:.]+\]):(\d{1,5})$/i.exec(text) ?? []
  const url = URL.parse(`https://${host}:${port}`)
  // A host that a URL would write in another way (127.1) may be meant otherwise than it would be read.
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
