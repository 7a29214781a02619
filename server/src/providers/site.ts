/**
 * What belongs to one owner. A proposal stays within the site of its issuer: otherwise an agent could show a person
 * the consent page of a provider they trust, and have the answer, or the token, sent to somebody else.
 */
import { getDomain } from 'tldts'
import { ServiceError } from '../platform/errors.ts'

/** The registrable domain. An address, a single label or a suffix stands for no more than itself, with its port. */
export function siteOf({ hostname, host }: URL): string {
  return getDomain(hostname, { allowPrivateDomains: true }) ?? host
}

/** The first is the one that the others are held against. */
export function assertOneSite(urls: readonly { url: URL; field: string }[]): void {
  const [first, ...rest] = urls
  const stranger = first && rest.find(({ url }) => siteOf(url) !== siteOf(first.url))
  if (!stranger) return
  const { field } = stranger
  const message = `"${field}" is on a different site than "${first.field}". All URLs of a proposal must be on the same site.`
  throw new ServiceError('invalid_field', { field, message })
}
