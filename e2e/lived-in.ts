/** A service with data for the pages: connections, agents, grants, calls, pending requests, devices. */
import assert from 'node:assert/strict'
import {
  createAdminClient,
  createAgentClient,
  createUserClient,
  generateDeviceKey,
  pairDevice,
  registerAgent,
} from '@sallyport/sdk'
import type { AgentClient, UserClient } from '@sallyport/sdk'
import type { OAuthServer } from '../server/testkit/oauth-server.ts'

export interface LivedIn {
  user: UserClient
  sessionToken: string
  /** A pending request. */
  waitingId: string
  /** A decided request. */
  decidedId: string
  deniedId: string
  /** A call that waits, and one that was made. */
  heldId: string
  doneId: string
  /** An unused login link. */
  loginUrl: string
  pairingUrl: string
}

interface Where {
  baseUrl: string
  adminToken: string
  oauth: OAuthServer
}

export async function liveIn({ baseUrl, adminToken, oauth }: Where): Promise<LivedIn> {
  const admin = createAdminClient({ baseUrl, adminToken })
  const signIn = async () => {
    const { login_token } = await admin.createLoginToken({ email: 'ada@example.com', name: 'Ada Lovelace' })
    return (await createUserClient({ baseUrl }).auth.login(login_token)).session_token
  }
  const sessionToken = await signIn()
  const user = createUserClient({ baseUrl, token: sessionToken })
  await admin.providers.create({
    provider_name: 'Acme Mail',
    slug: 'acme',
    issuer_url: oauth.issuer,
    scopes: ['openid', 'offline_access', 'email'],
    api_hosts: [oauth.host, 'api.acme.example', '*.acme.example'],
    client_id: oauth.client.clientId,
    client_secret: oauth.client.clientSecret,
  })
  await admin.providers.create({
    ...{ provider_name: 'Acme Code', slug: 'app', api_hosts: ['api.github.com'] },
    auth_methods: [{ kind: 'github_app', help: 'Create a private key in the settings of your GitHub App.' }],
  })
  await admin.providers.create({ preset: 'github', client_id: 'id', client_secret: 'a-secret-that-nobody-has' })
  const accounts: string[] = []
  for (const account of ['ada', 'work']) {
    const { authorization_url: url } = await user.connections.start({ provider_slug: 'acme' })
    const callback = await oauth.approve(url, { account })
    const { headers } = await fetch(callback, {
      redirect: 'manual',
      headers: { cookie: `svc_session=${sessionToken}` },
    })
    accounts.push(new URL(headers.get('location') ?? '', baseUrl).searchParams.get('connection_id') ?? '')
  }
  const credential = { api_key: 'pplx-a-key-that-nobody-has-elsewhere' }
  await user.connections.create({ provider_slug: 'perplexity', credential, label: 'Research' })
  const [first = '', second = ''] = accounts
  assert.match(second, /^con_/)

  const agentNamed = async (name: string): Promise<AgentClient> => {
    const { access_token: token } = await registerAgent({ baseUrl, name })
    return createAgentClient({ baseUrl, token })
  }
  const ask = (agent: AgentClient, wish: object = {}) =>
    agent.requestAccess({ provider: 'acme', user_id: 'ada@example.com', hosts: [oauth.host], ...wish })

  const mail = await agentNamed('Mail helper')
  const decided = await ask(mail, { reason: 'To sort what came in overnight', methods: ['GET', 'POST'] })
  const grant = await user.accessRequests.approve(decided.access_request_id, {
    connection_id: first,
    expires_at: new Date(Date.now() + 30 * 86_400_000).toISOString(),
  })
  const call = (url: string, method = 'GET') =>
    mail.proxy({ grant_id: grant.grant_id, url, method }).catch(() => undefined)
  for (let round = 0; round < 6; round++) await call(`https://${oauth.host}/api/whoami`)
  await call(`https://${oauth.host}/api/echo`, 'POST')
  await call(`https://${oauth.host}/api/nothing`)
  await call('https://elsewhere.example/')
  await call(`https://${oauth.host}/api/echo`, 'DELETE')

  const reporter = await agentNamed('Report writer')
  const older = await ask(reporter, { max_calls: 100 })
  const ended = await user.accessRequests.approve(older.access_request_id, { connection_id: second, max_calls: 50 })
  await user.grants.revoke(ended.grant_id)
  const denied = await ask(await agentNamed('Pushy agent'))
  await user.accessRequests.deny(denied.access_request_id, {})
  const sandboxed = await agentNamed('Somebody in the sandbox')
  await sandboxed.sandbox()

  const waiting = await ask(reporter, {
    reason: 'To write the weekly report, I read the calendar of your team and the threads about it.',
    hosts: ['api.acme.example', '*.acme.example'],
  })
  const careful = await holdCalls({ baseUrl, user, oauth, connectionId: first })
  const { pairing_code: pairingCode } = await user.devices.createPairingCode()
  await pairDevice({ baseUrl, pairingCode, key: await generateDeviceKey(), deviceName: 'Ada’s phone' })
  const { pairing_url: pairingUrl } = await user.devices.createPairingCode()
  const { login_url: loginUrl } = await admin.createLoginToken({ email: 'ada@example.com' })
  return {
    user,
    sessionToken,
    waitingId: waiting.access_request_id,
    decidedId: decided.access_request_id,
    deniedId: denied.access_request_id,
    ...careful,
    loginUrl,
    pairingUrl,
  }
}

interface Holding extends Pick<Where, 'baseUrl' | 'oauth'> {
  user: UserClient
  connectionId: string
}

/** An agent whose changes ask. */
async function holdCalls({ baseUrl, user, oauth, connectionId }: Holding): Promise<{ heldId: string; doneId: string }> {
  const { access_token: token } = await registerAgent({ baseUrl, name: 'Editor' })
  const agent = createAgentClient({ baseUrl, token })
  const wish = { provider: 'acme', user_id: 'ada@example.com', hosts: [oauth.host] }
  const { access_request_id: id } = await agent.requestAccess(wish)
  const exceptions = [{ paths: ['/api/keys'], action: 'deny' as const }]
  const terms = { connection_id: connectionId, mode: 'ask_writes' as const, exceptions }
  const { grant_id } = await user.accessRequests.approve(id, terms)
  const hold = async (method: string, path: string, body?: object): Promise<string> => {
    const reason = 'You asked me to answer everybody who wrote overnight.'
    const reply = await fetch(`${baseUrl}/v4/proxy`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ grant_id, method, url: `https://${oauth.host}${path}`, reason, ...(body && { body }) }),
    })
    assert.equal(reply.status, 202)
    return ((await reply.json()) as { call_id: string }).call_id
  }
  const doneId = await hold('POST', '/api/echo', { to: 'edsger@example.com', text: 'Thank you' })
  await user.calls.approve(doneId)
  const heldId = await hold('POST', '/api/echo', {
    to: ['grace@example.com', 'barbara@example.com'],
    subject: 'Invoice 42',
    text: 'Hello Grace,\n\nplease find our invoice for October below.\n\nBest wishes\nAda',
  })
  await hold('POST', '/api/echo?draft=1', { to: 'linus@example.com' })
  await hold('DELETE', '/api/drafts/7')
  return { heldId, doneId }
}
