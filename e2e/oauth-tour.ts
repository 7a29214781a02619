/**
 * OAuth from end to end, to be read and to be run: `npm run tour`. The built service and a real authorization server
 * (oidc-provider behind TLS) on loopback; each step prints what it did and its result, and a step with an unexpected
 * result ends the tour with an error.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { oauthPaths, startOAuthServer } from '../server/testkit/oauth-server.ts'
import { signIn, startWithProvider } from './person.ts'
import type { Reply } from './http-call.ts'

const endings: (() => unknown)[] = []
const t = { after: (ending: () => unknown) => endings.push(ending) } as Parameters<typeof startWithProvider>[0]
const say = (text: string) => process.stdout.write(`${text}\n`)

async function step(what: string, work: () => Promise<string>): Promise<void> {
  say(`✔ ${what.padEnd(44)} ${await work()}`)
}

const refusal = ({ status, body }: Reply) => `${status} ${(body as { error: { code: string } }).error.code}`

async function tour(): Promise<void> {
  say('Starting an authorization server and the service …\n')
  const oauth = await startOAuthServer(t, { rotateRefreshToken: true, registration: true })
  const closed = await startOAuthServer(t, {
    registration: { initialAccessToken: 'given-to-others' },
    deviceCodeSeconds: 2,
  })
  const settings = { SALLYPORT_EGRESS_ALLOW: `${oauth.host},${closed.host}` }
  const { service, token, start, follow } = await startWithProvider(t, 'sqlite', oauth, settings)
  const asUser = (method: string, path: string, body?: object) =>
    service.call(method, path, { token, ...(body && { body }) })
  const agent = await service.register('a tourist')
  const propose = (body: object) => service.call('POST', '/v4/providers/proposals', { token: agent.token, body })
  const refreshes = () => oauth.calls.filter(({ grantType }) => grantType === 'refresh_token').length
  const check = (id: string) => asUser('POST', `/v4/connections/${id}/check`)

  say('Providers')
  await step('discovery from the issuer only', async () => {
    const { body } = await service.call('GET', '/v4/providers')
    const [provider] = (body as { providers: { slug: string; device_flow: boolean; issuer_url: string }[] }).providers
    assert.equal(provider?.device_flow, true)
    return `${provider.slug} at ${provider.issuer_url}`
  })
  await step('an agent proposes, registration is open', async () => {
    const { status, body } = await propose({ provider_name: 'Open house', issuer_url: oauth.issuer })
    assert.deepEqual([status, body.status, body.verified], [201, 'active', false])
    return `${status} ${body.status}, unverified`
  })
  await step('an agent proposes, registration is refused', async () => {
    const { status, body } = await propose({ provider_name: 'Closed house', issuer_url: closed.issuer })
    assert.deepEqual([status, body.status], [201, 'pending_credentials'])
    return `${status} ${body.status} (${body.registration_error})`
  })
  await step('an agent proposes a metadata address', async () => {
    const reply = await propose({ provider_name: 'Cloud', issuer_url: 'https://169.254.169.254' })
    assert.equal(reply.body.error.code, 'address_not_allowed')
    return refusal(reply)
  })

  say('\nConnecting in a browser')
  let connectionId = ''
  await step('consent, code, tokens', async () => {
    const { connection_id } = await follow(await oauth.approve(await start()))
    connectionId = connection_id ?? ''
    const { body } = await asUser('GET', '/v4/connections')
    assert.equal(body.connections[0].account_label, 'ada@example.com')
    return `${connectionId} for ${body.connections[0].account_label}`
  })
  await step('the user denies access', async () => told(await follow(await oauth.deny(await start())), 'access_denied'))
  await step('the callback is replayed', async () => {
    const callback = await oauth.approve(await start(), { account: 'grace' })
    await follow(callback)
    return told(await follow(callback), 'invalid_state')
  })
  await step('a code that was already used elsewhere', async () => {
    const callback = new URL(await oauth.approve(await start()))
    const first = await follow(callback.href)
    assert.equal(first['connection_id'], connectionId)
    const next = new URL(await oauth.approve(await start()))
    next.searchParams.set('code', callback.searchParams.get('code') ?? '')
    return told(await follow(next.href), 'token_refused')
  })
  await step('a forged state', async () => {
    const callback = new URL(await oauth.approve(await start()))
    callback.searchParams.set('state', 'made-up')
    return told(await follow(callback.href), 'invalid_state')
  })
  await step('a response with another issuer', async () => {
    const callback = new URL(await oauth.approve(await start()))
    callback.searchParams.set('iss', 'https://elsewhere.example')
    return told(await follow(callback.href), 'invalid_response')
  })
  await step("a victim opens an attacker's link", async () => {
    const attacker = await signIn(service)
    const callback = await oauth.approve(await attacker.start())
    return told(await follow(callback), 'wrong_user')
  })

  say('\nConnecting with a code on another device')
  const device = async (slug = 'acme') =>
    (await asUser('POST', '/v4/oauth/device/start', { provider_slug: slug })).body as {
      device_flow_id: string
      user_code: string
      interval: number
    }
  const poll = async (flow: { device_flow_id: string }) =>
    (await asUser('POST', '/v4/oauth/device/poll', { device_flow_id: flow.device_flow_id })).body as {
      status: string
      interval: number
    }
  await step('polling too early, then pending, then slower', async () => {
    const flow = await device()
    const early = await poll(flow)
    await sleep(flow.interval * 1000)
    const pending = await poll(flow)
    const lift = oauth.fault.answer(oauthPaths.token, slowDown)
    await sleep(flow.interval * 1000)
    const slower = await poll(flow)
    lift()
    assert.deepEqual([early.status, pending.status, slower.status], ['slow_down', 'pending', 'slow_down'])
    assert.equal(slower.interval, flow.interval + 5)
    return `${early.status}, ${pending.status}, ${slower.status} (every ${slower.interval} s)`
  })
  await step('a code that expires', async () => {
    const { clientId, clientSecret } = closed.client
    const brief = {
      provider_name: 'Brief',
      issuer_url: closed.issuer,
      client_id: clientId,
      client_secret: clientSecret,
    }
    await service.call('POST', '/v4/providers', { token: service.adminToken, body: brief })
    const flow = await device('brief')
    await sleep(2000)
    const { status } = await poll(flow)
    assert.equal(status, 'expired')
    return status
  })
  await step('approved, and denied', async () => {
    const [yes, no] = [await device(), await device()]
    await oauth.approveDevice(yes.user_code, { account: 'linus' })
    await oauth.denyDevice(no.user_code)
    await sleep(yes.interval * 1000)
    const [approved, denied] = [await poll(yes), await poll(no)]
    assert.deepEqual([approved.status, denied.status], ['connected', 'denied'])
    return `${approved.status}, ${denied.status}`
  })

  say('\nTokens')
  await step('50 calls on an expired token', async () => {
    const shorten = oauth.fault.change(oauthPaths.token, (answer) => ({ ...answer, expires_in: 1 }))
    const renewed = await follow(await oauth.approve(await start()))
    shorten()
    assert.equal(renewed['connection_id'], connectionId)
    await sleep(1100)
    const replies = await Promise.all(Array.from({ length: 50 }, () => check(connectionId)))
    assert.ok(replies.every(({ status, body }) => status === 200 && body.status === 'active'))
    assert.equal(refreshes(), 1)
    return `${replies.length} × 200 with ${refreshes()} refresh`
  })
  await step('disconnected: the provider revokes its tokens', async () => {
    const { status, body } = await asUser('DELETE', `/v4/connections/${connectionId}`)
    assert.deepEqual([status, body.status, body.remote_revocation], [200, 'revoked', 'done'])
    return `${body.status} here, ${body.remote_revocation} there`
  })
  await step('nothing secret was logged', async () => {
    const seen = [...oauth.secrets].filter((secret) => service.log.includes(secret))
    assert.deepEqual(seen, [])
    return `${oauth.secrets.size} secrets looked for`
  })
}

const slowDown = { status: 400, headers: { 'content-type': 'application/json' }, body: '{"error":"slow_down"}' }

function told(landing: Record<string, string>, error: string): string {
  assert.deepEqual(landing, { error })
  return `back at the console with error=${error}`
}

try {
  await tour()
  say('\nAll steps succeeded.')
} finally {
  for (const ending of endings.reverse()) await ending()
}
