/**
 * Refuses URLs because of their text. The URL is already parsed: unusual spellings of an address (0x7f000001, 127.1,
 * full-width digits) are normalized to that address, and international names to their xn-- form. The same parsed URL is
 * used to connect, so the two can't differ.
 */
import { isAddress, placeOf } from './allow-list.ts'
import type { AllowList, SuppliedBy } from './allow-list.ts'
import { invalidUrl, notAllowed } from './failures.ts'

export function judgeUrl(list: AllowList, url: URL, suppliedBy: SuppliedBy, field?: string): void {
  const invalid = (message: string) => invalidUrl(message, field)
  if (url.protocol !== 'https:') throw invalid('The URL is not https.')
  if (url.username !== '' || url.password !== '') throw invalid('The URL contains a user name or password. Remove it.')
  // `example.com.` is a second name for the same host and would bypass lists of hosts.
  if (url.hostname.endsWith('.')) throw invalid("The URL's host ends with a dot. Remove it.")
  const place = placeOf(url)
  const refused = (reason: string) => notAllowed(url.host, reason, field)
  if (suppliedBy === 'stranger' && place.port !== 443 && !list.listsPlace(place)) throw refused('port')
  const reason = isAddress(url) ? list.judge(place.host, place, suppliedBy) : undefined
  if (reason !== undefined) throw refused(reason)
}

/**
 * For a page that only a person's browser opens. On the person's own machine it may be http, if the operator has listed its
 * host and port: browsers trust http on loopback like https.
 */
export function judgePageUrl(list: AllowList, url: URL, suppliedBy: SuppliedBy, field?: string): void {
  if (suppliedBy === 'operator' && isListedPageHere(list, url)) return
  judgeUrl(list, url, suppliedBy, field)
}

function isListedPageHere(list: AllowList, url: URL): boolean {
  if (url.protocol !== 'http:' || url.port === '' || url.username !== '' || url.password !== '') return false
  return ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname) && list.listsPlace(placeOf(url))
}
