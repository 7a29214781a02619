import type { Log } from '../platform/operations/log.ts'
import type { OAuth } from '../platform/oauth/oauth.ts'
import type { OAuthClient, Tokens } from '../platform/oauth/oauth-client.ts'
import { matchesHost } from '../providers/api-hosts.ts'
import { findPreset } from '../providers/presets/catalogue.ts'
import type { AccountSource } from '../providers/presets/preset.ts'
import type { Provider } from '../providers/provider.ts'
import { accountIn, accountInTokens, plainAccount } from './account.ts'
import type { Account } from './account.ts'

interface LearnAccountNeeds {
  oauth: OAuth
  log: Log
}

/** A connection without a name is better than none: whatever fails here only leaves the label out. */
export async function learnAccount(
  { oauth, log }: LearnAccountNeeds,
  provider: Provider,
  client: OAuthClient,
  tokens: Tokens,
): Promise<Account | undefined> {
  const source = sourceOf(provider)
  const known = accountInTokens(tokens, source)
  if (known?.label) return known
  try {
    if (source.from === 'request') return accountIn(await oauth.askApi(client, tokens.accessToken, source), source)
    // An id token need not hold more than the subject; userinfo tells the rest (OIDC Core §5.3).
    if (!known || client.metadata.userinfo_endpoint === undefined) return known
    const claims = await oauth.userinfo(client, tokens.accessToken, known.id)
    return accountIn({ ...claims, sub: known.id }, source)
  } catch (error) {
    log.warn({ err: error, provider_id: provider.providerId }, 'the connected account could not be identified')
    return known
  }
}

/** A preset can stand for another server than its own; then what its own API says is no answer, nor may it see the token. */
function sourceOf({ preset, apiHosts }: Provider): AccountSource {
  const source = preset === null ? undefined : findPreset(preset)?.account
  if (source?.from !== 'request') return source ?? plainAccount
  const { host } = new URL(source.url)
  return apiHosts.some((pattern) => matchesHost(pattern, host)) ? source : plainAccount
}
