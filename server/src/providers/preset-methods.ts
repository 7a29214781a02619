import type { AuthMethod } from '@sallyport/protocol/auth-methods'
import { ServiceError } from '../platform/errors.ts'
import { matchesHost } from './api-hosts.ts'
import type { Preset } from './presets/preset.ts'

/**
 * The ways in which a preset's API is authenticated, as an admin would give them. If the admin lists other hosts than
 * the preset, what a method says about hosts that are not listed is left out, and so is a method that depends on them.
 */
export function presetMethods({ authMethods }: Preset, apiHosts: readonly string[]): AuthMethod[] {
  const isListed = (host: string) => apiHosts.some((entry) => entry === host || matchesHost(entry, host))
  const left = authMethods.flatMap((method) => {
    const copy = structuredClone(method) as AuthMethod & { env?: string[] }
    delete copy.env
    const { inject, check, members, signs, api_url, ...rest } = copy
    const places = inject?.flatMap(({ hosts, ...place }) => {
      const listed = hosts?.filter(isListed)
      if (listed?.length === 0) return []
      return [{ ...place, ...(listed && { hosts: listed }) }]
    })
    const signed = signs?.filter(({ host }) => isListed(host.replace('*', 'tenant').replace('{region}', 'us-east-1')))
    const isLost =
      places?.length === 0 ||
      signed?.length === 0 ||
      (api_url !== undefined && !isListed(new URL(api_url).host)) ||
      members?.some(({ name, host }) => host && !isListed(tenantOf(name, host)))
    if (isLost) return []
    const isChecked = check && isListed(new URL(check.url.replace(/\{\w+\}/g, 'tenant')).host)
    const sent = {
      ...(places && { inject: places }),
      ...(signed && { signs: signed }),
      ...(api_url !== undefined && { api_url }),
    }
    return [{ ...rest, ...(members && { members }), ...sent, ...(isChecked && { check }) }]
  })
  if (left.length > 0) return left
  const message =
    'The preset sends its credentials to none of these hosts. Omit "api_hosts", or set "auth_methods" too.'
  throw new ServiceError('invalid_field', { field: 'api_hosts', message })
}

function tenantOf(member: string, host: string): string {
  return host.replace(`{${member}}`, 'tenant')
}
