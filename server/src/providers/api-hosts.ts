/**
 * Where a provider's tokens may go: `name`, or `*.name` for all below it, each with an optional port. The entries are
 * kept as a URL writes its host, so that comparing text is comparing places.
 */
import { getDomain } from 'tldts'
import { ServiceError } from '../platform/errors.ts'
import type { Metadata } from '../platform/oauth/oauth-client.ts'
import { memoizeByText } from '../platform/cache/memoize.ts'

const hostAndPort = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/

export function readApiHosts(entries: readonly string[], field = 'api_hosts'): string[] {
  return [...new Set(entries.map((entry, index) => readApiHost(entry, `${field}.${index}`)))]
}

/** Those that hold the person's data for sure: anything more has to be said. */
export function defaultApiHosts({ issuer, token_endpoint }: Partial<Metadata>): string[] {
  return [...new Set([issuer, token_endpoint].flatMap((url) => (url === undefined ? [] : [new URL(url).host])))]
}

/** Whether a call's host, as a URL writes it, is one that the entry stands for. Without a port both mean 443. */
export function matchesHost(entry: string, host: string): boolean {
  const [wanted, called] = [namedIn(entry), namedIn(host)]
  if (!wanted || wanted.port !== called?.port) return false
  if (!wanted.name.startsWith('*.')) return called.name === wanted.name
  return called.name.endsWith(wanted.name.slice(1)) && called.name.length >= wanted.name.length
}

/** Hosts come again and again: what each names is worked out once. */
const namedIn = memoizeByText((host): { name: string; port: string } | null => {
  const [, name, port] = hostAndPort.exec(host.toLowerCase()) ?? []
  return name === undefined ? null : { name: name.replace(/\.$/, ''), port: port ?? '443' }
})

function readApiHost(entry: string, field: string): string {
  const refuse = (message: string) => new ServiceError('invalid_field', { field, message: `"${field}" ${message}` })
  const isWildcard = entry.startsWith('*.')
  const rest = isWildcard ? entry.slice(2) : entry
  const [, name = '', port] = hostAndPort.exec(rest) ?? []
  // Leading zeros and odd writings of an address would be a second text for the same place.
  if (port !== undefined && !(/^[1-9]\d{0,4}$/.test(port) && Number(port) <= 65_535)) {
    throw refuse('has an invalid port. Use a number from 1 to 65535.')
  }
  if (!isHost(name))
    throw refuse('is not a host. Use a lower-case ASCII name, or *. and a name for all its subdomains.')
  if (isWildcard && !isOwned(name)) {
    throw refuse('would cover hosts of other organizations. Use a domain that the provider owns.')
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
