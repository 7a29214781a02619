/**
 * Where a provider's tokens may go: `name`, or `*.name` for all below it, each with an optional port. The entries are
 * kept as a URL writes its host, so that comparing text is comparing places.
 */
import { getDomain } from 'tldts'
import { ServiceError } from '../platform/errors.ts'
import type { Metadata } from '../platform/oauth/oauth-client.ts'

export function readApiHosts(entries: readonly string[]): string[] {
  return [...new Set(entries.map((entry, index) => readApiHost(entry, `api_hosts.${index}`)))]
}

/** Those that hold the person's data for sure: anything more has to be said. */
export function defaultApiHosts({ issuer, token_endpoint }: Metadata): string[] {
  return [...new Set([issuer, token_endpoint].flatMap((url) => (url === undefined ? [] : [new URL(url).host])))]
}

function readApiHost(entry: string, field: string): string {
  const refuse = (message: string) => new ServiceError('invalid_field', { field, message: `"${field}" ${message}` })
  const isWildcard = entry.startsWith('*.')
  const rest = isWildcard ? entry.slice(2) : entry
  const [, name = '', port] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(rest) ?? []
  // Leading zeros and odd writings of an address would be a second text for the same place.
  if (port !== undefined && !(/^[1-9]\d{0,4}$/.test(port) && Number(port) <= 65_535)) {
    throw refuse('has a port that is none. Write a number from 1 to 65535.')
  }
  if (!isHost(name)) throw refuse('is no host. Write a name in lower-case ASCII, with *. before it for all below it.')
  if (isWildcard && !isOwned(name)) {
    throw refuse('would cover hosts of strangers. Name the domain that the provider owns.')
  }
  return `${isWildcard ? '*.' : ''}${name}${port === undefined || port === '443' ? '' : `:${port}`}`
}

/** Below some names (`kawasaki.jp`) everything is a suffix, though they are none themselves. */
function isOwned(name: string): boolean {
  const domain = getDomain(name, { allowPrivateDomains: true })
  return domain !== null && getDomain(`below.${name}`, { allowPrivateDomains: true }) === domain
}

function isHost(name: string): boolean {
  if (name.length > 253 || URL.parse(`https://${name}/`)?.hostname !== name) return false
  return name.startsWith('[') || name.split('.').every((label) => /^(?!-)[a-z0-9-]{1,63}(?<!-)$/.test(label))
}
