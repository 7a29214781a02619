/**
 * A site has one owner. All URLs of a proposal have to be on the site of its issuer: otherwise an agent could show a
 * user the consent page of a provider they trust, and have the authorization code or the token sent to someone else.
 */
import { getDomain } from 'tldts'
import { ServiceError } from '../platform/errors.ts'

/** The registrable domain. An IP address, a single label or a public suffix is a site by itself, with its port. */
export function siteOf({ hostname, host }: URL): string {
  return getDomain(hostname, { allowPrivateDomains: true }) ?? host
}

/** Throws unless all others are on the site of the first. */
export function assertOneSite(urls: readonly { url: URL; field: string }[]): void {
  const [first, ...rest] = urls
  const stranger = first && rest.find(({ url }) => siteOf(url) !== siteOf(first.url))
  if (!stranger) return
  const { field } = stranger
  const message = `"${field}" is on a different site than "${first.field}". All URLs of a proposal must be on the same site.`
  throw new ServiceError('invalid_field', { field, message })
}
