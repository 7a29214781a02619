/**
 * Where a provider's tokens may be sent: `name`, or `*.name` for all subdomains, each with an optional port. Entries
 * are normalized like the host of a URL, so they can be compared as text.
 */
import { getDomain } from 'tldts'
import { ServiceError } from '../platform/errors.ts'
import type { Metadata } from '../platform/oauth/oauth-client.ts'
import { memoizeByText } from '../platform/cache/memoize.ts'

const hostAndPort = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/

/** `mayCover`: whether a wildcard may stand for all subdomains of a name. */
export function readApiHosts(entries: readonly string[], field = 'api_hosts', mayCover = isOwned): string[] {
  return [...new Set(entries.map((entry, index) => readApiHost(entry, `${field}.${index}`, mayCover)))]
}

/** Only hosts that certainly belong to the provider. Any others have to be given explicitly. */
export function defaultApiHosts({ issuer, token_endpoint }: Partial<Metadata>): string[] {
  return [...new Set([issuer, token_endpoint].flatMap((url) => (url === undefined ? [] : [new URL(url).host])))]
}

/** Whether the entry covers the host of a call, written as in a URL. Without a port, both mean 443. */
export function matchesHost(entry: string, host: string): boolean {
  const [wanted, called] = [parseHost(entry), parseHost(host)]
  if (!wanted || wanted.port !== called?.port) return false
  if (!wanted.name.startsWith('*.')) return called.name === wanted.name
  return called.name.endsWith(wanted.name.slice(1)) && called.name.length >= wanted.name.length
}

/** Throws if the host was removed from the provider. Then no credential is sent there, not even to be checked. */
export function assertListed({ apiHosts }: { apiHosts: readonly string[] }, host: string): void {
  if (apiHosts.some((entry) => matchesHost(entry, host))) return
  const message = `The provider's "api_hosts" no longer has ${host}, so no credential is sent there. Ask an administrator to add it.`
  throw new ServiceError('conflict', { field: 'credential', message })
}

/** Memoized: the same few hosts are called again and again. */
const parseHost = memoizeByText((host): { name: string; port: string } | null => {
  const [, name, port] = hostAndPort.exec(host.toLowerCase()) ?? []
  return name === undefined ? null : { name: name.replace(/\.$/, ''), port: port ?? '443' }
})

export function readApiHost(entry: string, field: string, mayCover = isOwned): string {
  const refuse = (message: string) => new ServiceError('invalid_field', { field, message: `"${field}" ${message}` })
  const isWildcard = entry.startsWith('*.')
  const rest = isWildcard ? entry.slice(2) : entry
  const [, name = '', port] = hostAndPort.exec(rest) ?? []
  // Leading zeros and unusual notations of an address would be a second spelling of the same host.
  if (port !== undefined && !(/^[1-9]\d{0,4}$/.test(port) && Number(port) <= 65_535)) {
    throw refuse('has an invalid port. Use a number from 1 to 65535.')
  }
  if (!isHost(name))
    throw refuse('is not a host. Use a lower-case ASCII name, or *. and a name for all its subdomains.')
  if (isWildcard && !mayCover(name)) {
    throw refuse('would cover hosts of other organizations. Use a domain that the provider owns.')
  }
  return `${isWildcard ? '*.' : ''}${name}${port === undefined || port === '443' ? '' : `:${port}`}`
}

/** Some names (`kawasaki.jp`) are not public suffixes themselves, but every name directly below them is. */
export function isOwned(name: string): boolean {
  const domain = getDomain(name, { allowPrivateDomains: true })
  return domain !== null && getDomain(`below.${name}`, { allowPrivateDomains: true }) === domain
}

function isHost(name: string): boolean {
  if (name.length > 253 || URL.parse(`https://${name}/`)?.hostname !== name) return false
  return name.startsWith('[') || name.split('.').every((label) => /^(?!-)[a-z0-9-]{1,63}(?<!-)$/.test(label))
}
