/** Users with connections, and agents that make calls, for the tests of the console. */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { oauth } from './asking.ts'
import { base, issueLink, post, postAsAdmin, press, sees } from './in-browser.ts'
import type { Visit } from './in-browser.ts'

export { oauth }

/** The provider's API, so that calls succeed. */
export const slug = 'beta'
await oauth.setRedirectUris(['acme', slug].map((name) => `${base}/v4/oauth/callback/${name}`))

let provider: Promise<void> | undefined

export async function providerIsThere(): Promise<void> {
  await (provider ??= createProvider())
}

async function createProvider(): Promise<void> {
  const reply = await postAsAdmin('/v4/providers', {
    provider_name: 'Beta',
    slug,
    issuer_url: oauth.issuer,
    scopes: ['openid', 'offline_access', 'email'],
    api_hosts: [oauth.host, 'api.beta.example'],
    client_id: oauth.client.clientId,
    client_secret: oauth.client.clientSecret,
  })
  assert.equal(reply.status, 201, await reply.text())
}

type Call = (method: string, path: string, body?: object) => Promise<{ status: number; body: any }>

function caller(token: string): Call {
  return async (method, path, body) => {
    const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) }
    const reply = await fetch(base + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    return { status: reply.status, body: await reply.json() }
  }
}

export interface Person {
  userId: string
  call: Call
  /** Connects an account. Returns the connection id. */
  connect: (account: string) => Promise<string>
  approve: (accessRequestId: string, decision: object) => Promise<string>
  /** A signed-in console page in its own browser. */
  open: (path: string, heading: string, visitHere?: Visit) => Promise<Page>
}

export async function arrive(visit: Visit, name: string): Promise<Person> {
  await providerIsThere()
  const { login_token } = await issueLink(`${name}@example.com`)
  const signedIn = (await (await post('/v4/auth/login', { login_token })).json()) as {
    session_token: string
    user: { user_id: string }
  }
  const token = signedIn.session_token
  const call = caller(token)
  return {
    userId: signedIn.user.user_id,
    call,
    connect: async (account) => {
      const started = await call('POST', '/v4/oauth/connect/start', { provider_slug: slug })
      const callback = await oauth.approve(started.body.authorization_url, { account })
      const reply = await fetch(callback, { redirect: 'manual', headers: { cookie: `svc_session=${token}` } })
      const id = new URL(reply.headers.get('location') ?? '', base).searchParams.get('connection_id') ?? ''
      assert.match(id, /^con_/)
      return id
    },
    approve: async (id, decision) => {
      const { status, body } = await call('POST', `/v4/access-requests/${id}/approve`, decision)
      assert.equal(status, 201, JSON.stringify(body))
      return body.grant_id
    },
    open: async (path, heading, visitHere = visit) => {
      const page = await visitHere('about:blank')
      await page.context().addCookies([{ name: 'svc_session', value: token, url: base }])
      await page.goto(base + path)
      await sees(page, heading)
      return page
    },
  }
}

/** Signs in at the provider, and allows or denies. */
export async function consent(page: Page, name: string, answer: 'Allow' | 'Refuse'): Promise<void> {
  await page.getByLabel('Name').fill(name)
  await press(page, 'Sign in')
  await press(page, answer)
}

export interface HeldCall {
  method?: string
  path?: string
  headers?: Record<string, string>
  body?: unknown
  reason?: string
}

export interface Agent {
  call: Call
  ask: (wish?: object) => Promise<string>
  /** Makes a call that waits for the user: a POST unless it says otherwise. */
  hold: (grantId: string, call?: HeldCall) => Promise<{ call_id: string; approval_url: string }>
  statusOf: (callId: string) => Promise<string>
  /** Calls the API with a grant. Returns the agent's response. */
  read: (grantId: string, path?: string) => Promise<{ status: number; code?: string; upstream?: number }>
}

export async function register(name = 'Mail helper'): Promise<Agent> {
  const registered = (await (await post('/v4/agents/register', { name })).json()) as { access_token: string }
  const call = caller(registered.access_token)
  return {
    call,
    ask: async (wish = {}) => {
      const { status, body } = await call('POST', '/v4/access-requests', { provider: slug, ...wish })
      assert.equal(status, 201, JSON.stringify(body))
      return body.access_request_id
    },
    hold: async (grantId, { method = 'POST', path = '/api/echo', body: content, ...more } = {}) => {
      const about = { grant_id: grantId, method, url: `https://${oauth.host}${path}`, ...more }
      const { status, body } = await call('POST', '/v4/proxy', {
        ...about,
        ...(content !== undefined && { body: content }),
      })
      assert.equal(status, 202, JSON.stringify(body))
      return body
    },
    statusOf: async (id) => (await call('GET', `/v4/calls/${id}`)).body.status,
    read: async (grantId, path = '/api/whoami') => {
      const url = `https://${oauth.host}${path}`
      const { status, body } = await call('POST', '/v4/proxy', { grant_id: grantId, method: 'GET', url })
      return { status, code: body.error?.code, upstream: body.status }
    },
  }
}

/** Fails if the page is wider than a narrow phone. */
export async function assertFits(page: Page): Promise<void> {
  await page.setViewportSize({ width: 320, height: 640 })
  assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320)
}
