import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import { plainDialect } from '../platform/oauth/dialect.ts'
import { OAuthAnswerInvalid } from '../platform/oauth/oauth-client.ts'
import type { Metadata } from '../platform/oauth/oauth-client.ts'
import type { OAuth } from '../platform/oauth/oauth.ts'
import { personOf } from './login-provider.ts'
import type { LoginProvider } from './login-provider.ts'

export interface OidcLoginNeeds {
  config: Pick<Config, 'oidcIssuer' | 'oidcClientId' | 'oidcClientSecret'>
  oauth: OAuth
  clock: Clock
}

const metadataLastsMs = 3_600_000

export function createOidcLogin({ config, oauth, clock }: OidcLoginNeeds): LoginProvider | undefined {
  const { oidcIssuer: issuer, oidcClientId: clientId } = config
  if (issuer === undefined || clientId === undefined) return undefined
  const discover = cached(clock, async () => withEndpoints(await oauth.discover(issuer, 'operator')))
  // Read once: a configured command that returns it must not run at every login.
  const clientSecret = config.oidcClientSecret.read()
  return {
    id: 'oidc',
    scopes: ['openid', 'email', 'profile'],
    client: async () => ({
      metadata: await discover(),
      clientId,
      clientSecret,
      authMethod: 'client_secret_basic',
      dialect: plainDialect,
      suppliedBy: 'operator',
    }),
    identify: async (client, { accessToken, claims }) => {
      if (!claims) throw new OAuthAnswerInvalid('no ID token')
      const { metadata } = client
      const person = personOf(metadata.issuer, claims)
      // Many ID tokens have no e-mail and name (OIDC Core §5.4). `email` and `email_verified` come from the same
      // source.
      if (person.verifiedEmail !== undefined || metadata.userinfo_endpoint === undefined) return person
      const told = personOf(metadata.issuer, await oauth.userinfo(client, accessToken, person.subject))
      return { ...told, name: told.name ?? person.name }
    },
  }
}

function withEndpoints(metadata: Metadata): Metadata {
  for (const name of ['authorization_endpoint', 'token_endpoint'] as const) {
    if (URL.parse(metadata[name] ?? '')?.protocol !== 'https:') throw new OAuthAnswerInvalid(`no ${name}`)
  }
  return metadata
}

/** Caches the result for an hour. Concurrent callers share one request, and failures are not cached. */
function cached<T>(clock: Clock, ask: () => Promise<T>): () => Promise<T> {
  let latest: { answer: Promise<T>; until: number } | undefined
  return () => {
    const now = clock().getTime()
    if (latest && now < latest.until) return latest.answer
    const asked = { answer: ask(), until: now + metadataLastsMs }
    latest = asked
    asked.answer.catch(() => {
      if (latest === asked) latest = undefined
    })
    return asked.answer
  }
}
