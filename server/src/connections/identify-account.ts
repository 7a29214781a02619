import type { Log } from '../platform/operations/log.ts'
import type { OAuth } from '../platform/oauth/oauth.ts'
import type { OAuthClient, Tokens } from '../platform/oauth/oauth-client.ts'
import { matchesHost } from '../providers/api-hosts.ts'
import { findPreset } from '../providers/presets/catalogue.ts'
import type { AccountSource } from '../providers/presets/preset.ts'
import type { Provider } from '../providers/provider.ts'
import { accountIn, accountInTokens, plainAccount } from './account.ts'
import type { Account } from './account.ts'

interface IdentifyAccountNeeds {
  oauth: OAuth
  log: Log
}

/** A connection without a label is better than none: a failure here only leaves the label out. */
export async function identifyAccount(
  { oauth, log }: IdentifyAccountNeeds,
  provider: Provider,
  client: OAuthClient,
  tokens: Tokens,
): Promise<Account | undefined> {
  const source = sourceOf(provider)
  const known = accountInTokens(tokens, source)
  if (known?.label) return known
  try {
    if (source.from === 'request') return accountIn(await oauth.askApi(client, tokens.accessToken, source), source)
    // An ID token may contain only the subject. Userinfo has the rest (OIDC Core §5.3).
    if (!known || client.metadata.userinfo_endpoint === undefined) return known
    const claims = await oauth.userinfo(client, tokens.accessToken, known.id)
    return accountIn({ ...claims, sub: known.id }, source)
  } catch (error) {
    log.warn({ err: error, provider_id: provider.providerId }, 'the connected account could not be identified')
    return known
  }
}

/**
 * A preset may be used with another server. The preset's own API then can't identify the account, and must not get its
 * token.
 */
function sourceOf({ preset, apiHosts }: Provider): AccountSource {
  const source = preset === null ? undefined : findPreset(preset)?.oauth?.account
  if (source?.from !== 'request') return source ?? plainAccount
  const { host } = new URL(source.url)
  return apiHosts.some((pattern) => matchesHost(pattern, host)) ? source : plainAccount
}
