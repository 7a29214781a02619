/** A signed-in user of a running service, who connects accounts at a provider. */
import type { TestContext } from 'node:test'
import type { OAuthServer } from '../server/testkit/oauth-server.ts'
import type { Reply } from './http-call.ts'
import { startService } from './running-service.ts'
import type { Engine, Environment, RunningService } from './running-service.ts'

export const slug = 'acme'

export interface Person {
  service: RunningService
  token: string
  /** The URL of the consent page. */
  start: (body?: object) => Promise<string>
  /** Opens the callback in this user's browser or another one. Returns the query of the landing page. */
  follow: (callback: string, cookie?: string) => Promise<Record<string, string>>
}

export async function startWithProvider(
  t: Pick<TestContext, 'after'>,
  engine: Engine,
  oauth: OAuthServer,
  settings: Environment = {},
): Promise<Person> {
  const reach = { SALLYPORT_EGRESS_ALLOW: oauth.host, SALLYPORT_EGRESS_CA_FILE: oauth.caFile }
  const service = await startService(t, engine, { ...reach, ...settings })
  await oauth.setRedirectUris([`http://localhost:${service.port}/v4/oauth/callback/${slug}`])
  const provider = {
    provider_name: 'Acme',
    slug,
    issuer_url: oauth.issuer,
    scopes: ['openid', 'offline_access', 'email'],
    client_id: oauth.client.clientId,
    client_secret: oauth.client.clientSecret,
  }
  succeeded(await service.call('POST', '/v4/providers', { token: service.adminToken, body: provider }))
  return { service, ...(await signIn(service)) }
}

export async function signIn(service: RunningService, whom: object = {}): Promise<Omit<Person, 'service'>> {
  const issued = await service.call('POST', '/v4/auth/login-tokens', { token: service.adminToken, body: whom })
  const { login_token } = succeeded(issued).body as { login_token: string }
  const { body } = succeeded(await service.call('POST', '/v4/auth/login', { body: { login_token } }))
  const { session_token: token } = body as { session_token: string }
  return {
    token,
    start: async (wish = { provider_slug: slug }) => {
      const reply = await service.call('POST', '/v4/oauth/connect/start', { token, body: wish })
      return (succeeded(reply).body as { authorization_url: string }).authorization_url
    },
    follow: async (callback, cookie = `svc_session=${token}`) => {
      const { pathname, search } = new URL(callback)
      const { headers } = await service.call('GET', pathname + search, { headers: { cookie } })
      return Object.fromEntries(new URL(headers.location ?? 'about:blank').searchParams)
    },
  }
}

export function succeeded(reply: Reply): Reply {
  if (reply.status >= 300) throw new Error(`answered ${reply.status}: ${reply.text}`)
  return reply
}
