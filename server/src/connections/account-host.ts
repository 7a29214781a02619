import type { Tokens } from '../platform/oauth/oauth-client.ts'
import { matchesHost } from '../providers/api-hosts.ts'
import { findPreset } from '../providers/presets/catalogue.ts'
import type { Provider } from '../providers/provider.ts'
import { ConnectFailed } from './connect-flow.ts'

/**
 * If every account has its own host, the token response names it. The token is sent only there, because other hosts on
 * the provider's domain belong to other customers.
 */
export function accountHost({ preset, apiHosts }: Provider, { extra }: Tokens): string | null {
  const member = preset === null ? undefined : findPreset(preset)?.oauth?.apiHostFrom
  if (member === undefined) return null
  const url = URL.parse(String(extra[member]))
  if (url?.protocol !== 'https:' || !apiHosts.some((pattern) => matchesHost(pattern, url.host))) {
    throw new ConnectFailed('invalid_response')
  }
  return url.host
}
