/**
 * Names such as `myshopify.com`, whose subdomains belong to organizations that are strangers to each other (the private
 * section of the Public Suffix List). A provider may list `*.myshopify.com` only if each of its credentials goes to one
 * of these hosts, which the account's owner names.
 */
import { parse } from 'tldts'
import { ServiceError } from '../platform/errors.ts'
import { isOwned, matchesHost, readApiHosts } from './api-hosts.ts'

interface Method {
  members?: readonly { name: string; host?: string | null | undefined }[] | undefined
}

/** Of a provider. To be followed by `assertTenantsAreNamed`, once its methods are known. */
export function readProviderHosts(entries: readonly string[]): string[] {
  return readApiHosts(entries, 'api_hosts', (name) => isOwned(name) || isShared(name))
}

/** Throws if a wildcard over strangers' hosts is listed, and a credential of some method is not limited to one of them. */
export function assertTenantsAreNamed(apiHosts: readonly string[], methods: readonly Method[]): void {
  for (const [index, entry] of apiHosts.entries()) {
    if (!isSharedWildcard(entry)) continue
    const tenants = methods.map(tenantOf)
    const isNamed = !tenants.includes(undefined)
    if (isNamed && tenants.some((tenant) => matchesHost(entry, tenant ?? ''))) continue
    const field = `api_hosts.${index}`
    const message =
      `"${field}" would cover hosts of other organizations. Each way of authentication would need a member that names ` +
      'the host, such as {"name": "shop", "host": "{shop}.myshopify.com"}, and OAuth has none.'
    throw new ServiceError('invalid_field', { field, message })
  }
}

function isSharedWildcard(entry: string): boolean {
  return entry.startsWith('*.') && isShared(entry.slice(2).replace(/:\d+$/, ''))
}

/** Whether every name directly below it has an owner of its own, by the private section of the list. */
function isShared(name: string): boolean {
  const { publicSuffix, domain, isPrivate } = parse(`below.${name}`, { allowPrivateDomains: true })
  return isPrivate === true && publicSuffix === name && domain === `below.${name}`
}

/** An example of the host that the credential goes to. Undefined if it may go to any of the provider. */
function tenantOf({ members = [] }: Method): string | undefined {
  const named = members.find(({ host }) => host !== null && host !== undefined)
  return named?.host?.replace(`{${named.name}}`, 'tenant')
}
