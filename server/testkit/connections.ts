/** A service with one provider on a real authorization server, and a user who connects accounts there. */
import type { TestContext } from 'node:test'
import type { Engine } from '../src/platform/database/database.ts'
import type { Environment } from '../src/platform/config/settings.ts'
import { fixedClock } from './clock.ts'
import type { FixedClock } from './clock.ts'
import { startOAuthServer } from './oauth-server.ts'
import type { OAuthServer, OAuthServerOptions } from './oauth-server.ts'
import { reaching } from './providers.ts'
import { startService } from './service.ts'
import type { Reply, TestService } from './service.ts'

export const slug = 'acme'
const scopes = ['openid', 'offline_access', 'email', 'read']

export interface ConnectionTest extends TestService {
  oauth: OAuthServer
  user: Person
  providerId: string
  /** Starts a connect flow with this body as a user. Returns the URL of the consent page. */
  start: (person: Person, body?: object) => Promise<string>
  /** Opens the provider's callback URL in a browser. */
  follow: (callback: string, cookie?: string) => Promise<Landing>
  /** The whole flow. Returns the connection id. */
  connect: (person?: Person, account?: string, body?: object) => Promise<string>
  connection: (id: string, person?: Person) => Promise<any>
  /** How often the provider's token endpoint was asked to refresh. */
  refreshes: () => number
}

export interface Person {
  userId: string
  token: string
  cookie: string
}

export interface Landing {
  status: number
  path: string
  params: Record<string, string>
  cookie: string | undefined
  reply: Reply
}

export interface ConnectionTestOptions {
  settings?: Environment
  oauth?: OAuthServerOptions
  clock?: FixedClock
  provider?: object
  /** Other hosts on loopback that the service may reach. */
  hosts?: string[]
}

export async function startConnectionTest(
  t: Pick<TestContext, 'after'>,
  engine: Engine,
  { settings, oauth: options, clock = fixedClock(), provider, hosts = [] }: ConnectionTestOptions = {},
): Promise<ConnectionTest> {
  const oauth = await startOAuthServer(t, options)
  const reached = { ...reaching(oauth), SALLYPORT_EGRESS_ALLOW: [oauth.host, ...hosts].join(',') }
  const service = await startService(t, engine, { ...reached, ...settings }, clock)
  await oauth.setRedirectUris([`${service.config.baseUrl.origin}/v4/oauth/callback/${slug}`])
  const created = await service.call('POST', '/v4/providers', {
    token: service.adminToken,
    body: {
      provider_name: 'Acme',
      slug,
      issuer_url: oauth.issuer,
      scopes,
      client_id: oauth.client.clientId,
      client_secret: oauth.client.clientSecret,
      ...provider,
    },
  })
  if (created.status !== 201) throw new Error(created.text)
  const user = await service.logIn({ email: 'ada@example.com' })
  const { provider_id: providerId } = created.body as { provider_id: string }
  const start: ConnectionTest['start'] = async (person, body = {}) => {
    const reply = await service.call('POST', '/v4/oauth/connect/start', {
      token: person.token,
      body: { provider_slug: slug, ...body },
    })
    if (reply.status !== 200) throw new Error(reply.text)
    return (reply.body as { authorization_url: string }).authorization_url
  }
  const follow: ConnectionTest['follow'] = async (callback, cookie) => {
    const { pathname, search } = new URL(callback)
    const reply = await service.call('GET', pathname + search, { headers: cookie === undefined ? {} : { cookie } })
    const landed = new URL(String(reply.headers['location'] ?? 'about:blank'))
    const set = [reply.headers['set-cookie'] ?? []].flat().map(String)
    return {
      status: reply.status,
      path: landed.pathname,
      params: Object.fromEntries(landed.searchParams),
      cookie: set.find((one) => one.startsWith('svc_connect=') && !one.startsWith('svc_connect=;')),
      reply,
    }
  }
  const connect: ConnectionTest['connect'] = async (person = user, account = 'ada', body = {}) => {
    const callback = await oauth.approve(await start(person, body), { account })
    const { params } = await follow(callback, person.cookie)
    if (params['connection_id'] === undefined) throw new Error(`not connected: ${params['error']}`)
    return params['connection_id']
  }
  return {
    ...service,
    oauth,
    user,
    providerId,
    start,
    follow,
    connect,
    connection: async (id, person = user) => {
      const { body } = await service.call('GET', '/v4/connections', { token: person.token })
      const { connections } = body as { connections: { connection_id: string }[] }
      return connections.find(({ connection_id }) => connection_id === id)
    },
    refreshes: () => oauth.calls.filter(({ grantType }) => grantType === 'refresh_token').length,
  }
}
