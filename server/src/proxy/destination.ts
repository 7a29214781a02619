import { isIP } from 'node:net'
import { ServiceError } from '../platform/errors.ts'

/** Where a call goes. What is sent is this URL, the one that was judged, never the caller's text. */
export interface Destination {
  url: URL
  host: string
  path: string
  /** For the record: which parameters, not what they said. */
  queryNames: string[]
}

export function judgeUrl(text: string, plainOrigin: string | undefined): Destination {
  const refuse = (message: string) => new ServiceError('invalid_url', { field: 'url', message })
  const url = URL.parse(text)
  if (!url) throw refuse('The URL can not be parsed. Give a whole https URL.')
  const isOurs = url.origin === plainOrigin
  if (url.protocol !== 'https:' && !isOurs) throw refuse('The URL is not https.')
  if (url.username !== '' || url.password !== '') throw refuse('The URL holds a user name or password. Leave them out.')
  if (url.hash !== '' || text.includes('#')) throw refuse('The URL holds a fragment. Leave it out.')
  if (!isOurs && isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0)
    throw refuse('The URL names an address instead of a host.')
  // A look-alike letter or an odd slash may read as another place than the one that is called.
  if (!text.toLowerCase().startsWith(`${url.protocol}//${url.host}`))
    throw refuse(`The URL is not written as it would be sent. Write it as ${url.protocol}//host/path, in ASCII.`)
  return { url, host: url.host, path: url.pathname, queryNames: [...new Set(url.searchParams.keys())] }
}
