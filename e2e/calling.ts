/** Everything that a proxied call needs, made through the API: a provider, a connection, an agent, a grant. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { oauthPaths, startOAuthServer } from '../server/testkit/oauth-server.ts'
import type { OAuthServer, OAuthServerOptions } from '../server/testkit/oauth-server.ts'
import type { Reply } from './http-call.ts'
import { signIn, slug as usualSlug, succeeded } from './person.ts'
import { roomy, startService } from './running-service.ts'
import type { Engine, Environment, RunningService } from './running-service.ts'

export interface Calling {
  service: RunningService
  oauth: OAuthServer
  agent: { agentId: string; token: string }
  /** The session of the user who connected the account and approves. */
  personToken: string
  grantId: string
  connectionId: string
  /** A proxied call to one of the hosts. Members of the call can be added or changed. */
  proxy: (url: string, call?: object, headers?: Record<string, string>) => Promise<Reply>
  /** Connects another account of the same user at the same provider. Returns its connection_id. */
  connectAnother: (account: string) => Promise<string>
  /** One more agent, approved for the same account. */
  admit: () => Promise<{ agentId: string; token: string; grantId: string }>
  /** One more grant for the agent, with these terms. Returns its grant_id. */
  grantAgain: (terms: object) => Promise<string>
}

export interface CallingOptions {
  /** The provider's API hosts, which the service may reach: on loopback, with certificates of the tests. */
  hosts: string[]
  /** The provider's slug. */
  slug?: string
  settings?: Environment
  oauth?: OAuthServerOptions
  /** Members of the approvals, besides the connection. */
  approval?: object
  /** More members of the provider. */
  provider?: object
  /** Tokens to issue instead of random ones, for tests that need to know them. */
  tokens?: { access_token: string; refresh_token: string }
}

export async function startCalling(
  t: Pick<TestContext, 'after'>,
  engine: Engine,
  { hosts, slug = usualSlug, settings = {}, oauth: options, approval = {}, provider = {}, tokens }: CallingOptions,
): Promise<Calling> {
  const oauth = await startOAuthServer(t, options)
  const service = await startService(t, engine, {
    ...roomy,
    SALLYPORT_EGRESS_ALLOW: [oauth.host, ...hosts].join(','),
    SALLYPORT_EGRESS_CA_FILE: oauth.caFile,
    SALLYPORT_PROXY_RATE_PER_AGENT: '0',
    SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT: '0',
    ...settings,
  })
  await oauth.setRedirectUris([`http://localhost:${service.port}/v4/oauth/callback/${slug}`])
  const described = {
    provider_name: 'Acme',
    slug,
    issuer_url: oauth.issuer,
    scopes: ['openid', 'offline_access', 'email'],
    api_hosts: hosts,
    client_id: oauth.client.clientId,
    client_secret: oauth.client.clientSecret,
    ...provider,
  }
  succeeded(await service.call('POST', '/v4/providers', { token: service.adminToken, body: described }))
  if (tokens) oauth.fault.change(oauthPaths.token, (body: object) => ({ ...body, ...tokens }))
  const person = await signIn(service)
  const { connection_id: connectionId = '' } = await person.follow(
    await oauth.approve(await person.start({ provider_slug: slug })),
  )
  assert.match(connectionId, /^con_/)
  const grant = async (token: string, terms: object) => {
    const asked = await service.call('POST', '/v4/access-requests', { token, body: { provider: slug } })
    const { access_request_id: id } = succeeded(asked).body as { access_request_id: string }
    const approved = await service.call('POST', `/v4/access-requests/${id}/approve`, {
      token: person.token,
      body: { connection_id: connectionId, ...terms },
    })
    return (succeeded(approved).body as { grant_id: string }).grant_id
  }
  const admit = async () => {
    const agent = await service.register()
    return { ...agent, grantId: await grant(agent.token, approval) }
  }
  const { grantId, ...agent } = await admit()
  return {
    service,
    oauth,
    agent,
    personToken: person.token,
    grantId,
    connectionId,
    admit,
    grantAgain: (terms) => grant(agent.token, terms),
    connectAnother: async (account) => {
      const { connection_id: another = '' } = await person.follow(
        await oauth.approve(await person.start({ provider_slug: slug }), { account }),
      )
      assert.match(another, /^con_/)
      return another
    },
    proxy: (url, call = {}, headers = {}) =>
      service.call('POST', '/v4/proxy', {
        token: agent.token,
        body: { grant_id: grantId, method: 'GET', url, ...call },
        headers,
      }),
  }
}
