/** A person with a connected account, and an agent that asks for access to it. */
import type { TestContext } from 'node:test'
import type { Engine } from '../src/platform/database/database.ts'
import { slug, startConnectionTest } from './connections.ts'
import type { ConnectionTest, ConnectionTestOptions, Person } from './connections.ts'
import type { Reply } from './service.ts'

/** Hosts that stand beside the authorization server's own. */
export const apiHosts = ['api.acme.example', '*.files.acme.example', 'mail.acme.example:8443']

export interface AccessTest extends ConnectionTest {
  agent: { agentId: string; token: string }
  connectionId: string
  /** As the agent, or another one. */
  ask: (body?: object, token?: string) => Promise<Reply>
  /** The id of a request that was accepted. */
  asked: (body?: object, token?: string) => Promise<string>
  /** As the person, or whoever's token it is. */
  approve: (id: string, body?: object, token?: string) => Promise<Reply>
  deny: (id: string, body?: object, token?: string) => Promise<Reply>
  cancel: (id: string, token?: string) => Promise<Reply>
  /** As the agent, or whoever's token it is. */
  read: (id: string, token?: string) => Promise<Reply>
  pending: (person?: Pick<Person, 'token'>) => Promise<string[]>
}

export async function startAccessTest(
  t: Pick<TestContext, 'after'>,
  engine: Engine,
  options: ConnectionTestOptions = {},
): Promise<AccessTest> {
  const test = await startConnectionTest(t, engine, {
    ...options,
    provider: { api_hosts: apiHosts, ...options.provider },
  })
  const agent = await test.registerAgent('Mail helper')
  const connectionId = await test.connect()
  const { call, user } = test
  const ask: AccessTest['ask'] = (body = {}, token = agent.token) =>
    call('POST', '/v4/access-requests', { token, body: { provider: slug, ...body } })
  return {
    ...test,
    agent,
    connectionId,
    ask,
    asked: async (body, token) => {
      const reply = await ask(body, token)
      if (reply.status !== 201) throw new Error(reply.text)
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
