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

const maxHost = 255
const maxPath = 1024
const maxNames = 50
const maxName = 100

/** What is put on record of a destination. Longer parts are cut: an agent must not be able to fill the disk with them. */
export function recordedParts({ host, path, queryNames }: Destination): {
  host: string
  path: string
  query: string[]
} {
  const rest = queryNames.length > maxNames ? [`… ${queryNames.length - maxNames} more`] : []
  const query = [...queryNames.slice(0, maxNames).map((name) => cut(name, maxName)), ...rest]
  return { host: cut(host, maxHost), path: cut(path, maxPath), query }
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text
}
