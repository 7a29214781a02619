/** A service that may reach an authorization server on loopback, and the server's provider metadata. */
import type { TestContext } from 'node:test'
import type { Engine } from '../src/platform/database/database.ts'
import type { Environment } from '../src/platform/config/settings.ts'
import { startOAuthServer } from './oauth-server.ts'
import type { OAuthServer, OAuthServerOptions } from './oauth-server.ts'
import { startService } from './service.ts'
import type { Reply, TestService } from './service.ts'

export interface ProviderTest extends TestService {
  oauth: OAuthServer
  /** As an admin. */
  create: (body: object) => Promise<Reply>
  /** As an agent, the same one unless a token is given. */
  propose: (body: object, token?: string) => Promise<Reply>
  asAdmin: (method: string, path: string, body?: object) => Promise<Reply>
}

export async function startProviderTest(
  t: Pick<TestContext, 'after'>,
  engine: Engine,
  options: { settings?: Environment; oauth?: OAuthServerOptions } = {},
): Promise<ProviderTest> {
  const oauth = await startOAuthServer(t, options.oauth)
  const service = await startService(t, engine, { ...reaching(oauth), ...options.settings })
  let agent: ReturnType<TestService['registerAgent']> | undefined
  const asAdmin: ProviderTest['asAdmin'] = (method, path, body) =>
    service.call(method, path, { token: service.adminToken, ...(body && { body }) })
  return {
    ...service,
    oauth,
    asAdmin,
    create: (body) => asAdmin('POST', '/v4/providers', body),
    propose: async (body, token) => {
      const asAgent = token ?? (await (agent ??= service.registerAgent())).token
      return service.call('POST', '/v4/providers/proposals', { token: asAgent, body })
    },
  }
}

/** Creates providers without a server, each a second after the previous one. */
export async function startAdmin(t: Pick<TestContext, 'after'>, engine: Engine) {
  const service = await startService(t, engine)
  const asAdmin = (method: string, path: string, body?: object) =>
    service.call(method, path, { token: service.adminToken, ...(body && { body }) })
  const create = async (body: object) => {
    const reply = await asAdmin('POST', '/v4/providers', body)
    if (reply.status !== 201) throw new Error(reply.text)
    service.clock.advance(1)
    return reply.body
  }
  return { service, asAdmin, create }
}

export function reaching({ host, caFile }: Pick<OAuthServer, 'host' | 'caFile'>): Environment {
  return { SALLYPORT_EGRESS_ALLOW: host, SALLYPORT_EGRESS_CA_FILE: caFile }
}

/** Metadata of a provider without a server. */
export const acme = {
  provider_name: 'Acme Corp',
  issuer_url: 'https://login.acme.example',
  authorization_url: 'https://login.acme.example/authorize',
  token_url: 'https://login.acme.example/token',
}

export const client = { client_id: 'our-client', client_secret: 'a-secret-of-sixteen-or-more' }
