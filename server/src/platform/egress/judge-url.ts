/**
 * What is refused by a URL's text alone. The URL comes parsed: odd writings of an address (0x7f000001, 127.1,
 * full-width digits) are that address by then, and a name in another script is its xn-- form, a name like any other.
 * What was judged here is also what is connected to, so nothing can read one way and lead another.
 */
import { isAddress, placeOf } from './allow-list.ts'
import type { AllowList, SuppliedBy } from './allow-list.ts'
import { invalidUrl, notAllowed } from './failures.ts'

export function judgeUrl(list: AllowList, url: URL, suppliedBy: SuppliedBy, field?: string): void {
  const invalid = (message: string) => invalidUrl(message, field)
  if (url.protocol !== 'https:') throw invalid('The URL is not https.')
  if (url.username !== '' || url.password !== '')
    throw invalid('The URL holds a user name or password. Leave them out.')
  // A second name for the same host would pass by the list, and by whoever compares hosts.
  if (url.hostname.endsWith('.')) throw invalid("The URL's host ends with a dot. Leave it out.")
  const place = placeOf(url)
  const refused = (reason: string) => notAllowed(url.host, reason, field)
  if (suppliedBy === 'stranger' && place.port !== 443 && !list.listsPlace(place)) throw refused('port')
  const reason = isAddress(url) ? list.judge(place.host, place, suppliedBy) : undefined
  if (reason !== undefined) throw refused(reason)
}

/**
 * A page that is never called from here: a person's browser opens it. Where that page is on the person's own machine
 * and the operator has listed its place, it may be http, which browsers trust there as they do https.
 */
export function judgePageUrl(list: AllowList, url: URL, suppliedBy: SuppliedBy, field?: string): void {
  if (suppliedBy === 'operator' && isListedPageHere(list, url)) return
  judgeUrl(list, url, suppliedBy, field)
}

function isListedPageHere(list: AllowList, url: URL): boolean {
  if (url.protocol !== 'http:' || url.port === '' || url.username !== '' || url.password !== '') return false
  return ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname) && list.listsPlace(placeOf(url))
}
