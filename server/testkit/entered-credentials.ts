/**
 * A service with a provider that takes API keys or passwords, and an API that checks them by itself: it knows the
 * secrets and where they belong, and nothing of the service's templates.
 */
import type { TestContext } from 'node:test'
import type { Engine } from '../src/platform/database/database.ts'
import type { Environment } from '../src/platform/config/settings.ts'
import type { Lookup } from '../src/platform/egress/resolver.ts'
import { startUpstream } from './calling.ts'
import type { Answer, Received, TestUpstream } from './calling.ts'
import { sharedAuthority } from './certificates.ts'
import { insertGrant } from './grants.ts'
import { startService } from './service.ts'
import type { Reply, TestService } from './service.ts'

export const adasKey = 'sk_live_Ada4Zm9vYmFyMTIzNDU2Nzg5MGFiY2Rl'
export const adasNewKey = 'sk_live_AdaNewQWxsIG5ldywgYWxsIHRoZSBz'
export const gracesKey = 'sk_live_Grace0dGhpcyBpcyBhbm90aGVyIGtl'
const accounts: Record<string, string> = { [adasKey]: 'ada', [adasNewKey]: 'ada', [gracesKey]: 'grace' }

/** One key in a header, and a check that names the account. */
export const apiKeyMethod = (host: string) => ({
  kind: 'api_key',
  inject: [{ in: 'header', name: 'x-api-key', template: '{api_key}' }],
  check: {
    url: `https://${host}/me`,
    headers: { 'Keys-Version': '2026-11-18' },
    account: { id: 'id', labels: ['login'] },
  },
})

export interface EnteredTest extends TestService {
  upstream: TestUpstream
  user: Awaited<ReturnType<TestService['logIn']>>
  providerId: string
  connect: (credential: object, members?: object, token?: string) => Promise<Reply>
  replace: (connectionId: string, credential: object, token?: string) => Promise<Reply>
  /** An agent with a grant on the connection. */
  grantOn: (connectionId: string, hosts?: string[]) => Promise<EnteredGrant>
}

export interface EnteredGrant {
  grantId: string
  token: string
  /** A GET of the upstream, unless the members say otherwise. */
  proxy: (members?: object) => Promise<Reply>
}

export interface EnteredOptions {
  /** By default one `api_key` in a header, which /me checks. */
  methods?: (host: string) => object[]
  apiHosts?: (host: string) => string[]
  /** Hosts that may be at a private address. By default the upstream's. */
  allowed?: (host: string) => string[]
  /** More members of the provider. */
  provider?: (host: string) => object
  answer?: Answer
  settings?: Environment
  lookup?: Lookup
}

/** Says whose key it was sent, on any path. */
const answerMe: Answer = (response, { headers }: Received) => {
  const login = accounts[String(headers['x-api-key'])]
  response.writeHead(login ? 200 : 401, { 'content-type': 'application/json' })
  response.end(JSON.stringify(login ? { id: `id-of-${login}`, login } : { error: 'no such key' }))
}

export async function startEntered(
  t: Pick<TestContext, 'after'>,
  engine: Engine,
  {
    methods = (host) => [apiKeyMethod(host)],
    apiHosts = (host) => [host],
    allowed = (host) => [host],
    provider = () => ({}),
    answer,
    settings,
    lookup,
  }: EnteredOptions = {},
): Promise<EnteredTest> {
  const upstream = await startUpstream(t, answer ?? answerMe)
  const reached = {
    SALLYPORT_EGRESS_ALLOW: allowed(upstream.host).join(),
    SALLYPORT_EGRESS_CA_FILE: (await sharedAuthority()).caFile,
  }
  const service = await startService(t, engine, { ...reached, ...settings }, undefined, lookup)
  const { host } = upstream
  const hosts = { api_hosts: apiHosts(host), auth_methods: methods(host) }
  const body = { provider_name: 'Keys', slug: 'keys', ...hosts, ...provider(host) }
  const created = await service.call('POST', '/v4/providers', { token: service.adminToken, body })
  if (created.status !== 201) throw new Error(created.text)
  const user = await service.logIn({ email: 'ada@example.com' })
  return {
    ...service,
    ...{ upstream, user, providerId: created.body.provider_id },
    connect: (credential, members = {}, token = user.token) =>
      service.call('POST', '/v4/connections', { token, body: { provider_slug: 'keys', credential, ...members } }),
    replace: (id, credential, token = user.token) =>
      service.call('PUT', `/v4/connections/${id}/credential`, { token, body: { credential } }),
    grantOn: async (connectionId, hosts = [host]) => {
      const { agentId, token } = await service.registerAgent()
      const { grantId } = await insertGrant(service, {
        agentId,
        userId: user.userId,
        connectionId,
        allowedHosts: hosts,
      })
      const proxy = (members: object = {}) =>
        service.call('POST', '/v4/proxy', {
          token,
          body: { grant_id: grantId, method: 'GET', url: upstream.url, ...members },
        })
      return { grantId, token, proxy }
    },
  }
}
