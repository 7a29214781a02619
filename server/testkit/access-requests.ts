/** A user with a connected account, and an agent that requests access to it. No provider has to be running. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { createConnectionStore } from '../src/connections/connection-store.ts'
import type { Engine } from '../src/platform/database/database.ts'
import { newId } from '../src/platform/ids.ts'
import { Secret } from '../src/platform/secret.ts'
import type { Environment } from '../src/platform/config/settings.ts'
import { fixedClock } from './clock.ts'
import type { FixedClock } from './clock.ts'
import { acme, client } from './providers.ts'
import { startService } from './service.ts'
import type { Reply, TestService } from './service.ts'

export const apiHosts = ['api.acme.example', '*.files.acme.example', 'mail.acme.example:8443']

export interface Person {
  userId: string
  token: string
  cookie: string
}

export interface AccessTest extends TestService {
  user: Person
  agent: { agentId: string; token: string }
  providerId: string
  connectionId: string
  /** Connects another account of a user, at this provider or another. Returns the connection id. */
  connect: (person: Person, account: string, provider?: string) => Promise<string>
  /** As the agent, or another one. */
  ask: (body?: object, token?: string) => Promise<Reply>
  /** Creates a request, which must succeed. Returns its id. */
  asked: (body?: object, token?: string) => Promise<string>
  /** As the user, or with another token. */
  approve: (id: string, body?: object, token?: string) => Promise<Reply>
  deny: (id: string, body?: object, token?: string) => Promise<Reply>
  cancel: (id: string, token?: string) => Promise<Reply>
  /** As the agent, or with another token. */
  read: (id: string, token?: string) => Promise<Reply>
  pending: (person?: Pick<Person, 'token'>) => Promise<string[]>
}

/** Sessions do not expire when the test moves the clock. */
const patient: Environment = {
  SALLYPORT_SESSION_IDLE_SECONDS: '31536000',
  SALLYPORT_SESSION_SECONDS: '31536000',
}

export async function startAccessTest(
  t: Pick<TestContext, 'after'>,
  engine: Engine,
  settings: Environment = {},
  clock: FixedClock = fixedClock(),
): Promise<AccessTest> {
  const service = await startService(t, engine, { ...patient, ...settings }, clock)
  const { call, adminToken } = service
  const created = await call('POST', '/v4/providers', {
    token: adminToken,
    body: { ...acme, ...client, provider_name: 'Acme', slug: 'acme', api_hosts: apiHosts },
  })
  assert.equal(created.status, 201, created.text)
  const { provider_id: providerId } = created.body as { provider_id: string }
  const user = await service.logIn({ email: 'ada@example.com' })
  const agent = await service.registerAgent('Mail helper')
  const connectionId = await insertConnection(service, user, providerId, 'ada')
  const ask: AccessTest['ask'] = (body = {}, token = agent.token) =>
    call('POST', '/v4/access-requests', { token, body: { provider: 'acme', ...body } })
  return {
    ...service,
    user,
    agent,
    providerId,
    connectionId,
    connect: (person, account, provider = providerId) => insertConnection(service, person, provider, account),
    ask,
    asked: async (body, token) => {
      const reply = await ask(body, token)
      assert.equal(reply.status, 201, reply.text)
      return (reply.body as { access_request_id: string }).access_request_id
    },
    approve: (id, body = {}, token = user.token) =>
      call('POST', `/v4/access-requests/${id}/approve`, { token, body: { connection_id: connectionId, ...body } }),
    deny: (id, body, token = user.token) => call('POST', `/v4/access-requests/${id}/deny`, { token, body }),
    cancel: (id, token = agent.token) => call('POST', `/v4/access-requests/${id}/cancel`, { token }),
    read: (id, token = agent.token) => call('GET', `/v4/access-requests/${id}`, { token }),
    pending: async ({ token } = user) => {
      const { body } = await call('GET', '/v4/access-requests/pending', { token })
      const { access_requests: found } = body as { access_requests: { access_request_id: string }[] }
      return found.map(({ access_request_id }) => access_request_id)
    },
  }
}

export async function insertConnection(
  { database, vault, clock }: TestService,
  { userId }: Person,
  providerId: string,
  account: string,
): Promise<string> {
  const now = clock.now()
  const connectionId = newId('con', now)
  const tokens = {
    accessToken: new Secret(`an-access-token-of-${account}`),
    refreshToken: undefined,
    expiresAt: null,
    obtainedAt: now,
  }
  const connection = {
    connectionId,
    userId,
    providerId,
    authMethod: 'oauth2',
    status: 'active' as const,
    accountId: account,
    accountLabel: `${account}@acme.example`,
    apiHost: null,
    scopes: ['read'],
    expiresAt: null,
    obtainedAt: now,
    isRefreshed: false,
    canRefresh: false,
    version: 1,
    refreshLeaseUntil: null,
    createdAt: now,
    lastUsedAt: null,
    revokedAt: null,
    remoteRevocation: null,
  }
  const isNew = await database.transaction((tx) => createConnectionStore(vault).insert(tx, connection, tokens))
  assert.ok(isNew)
  return connectionId
}
