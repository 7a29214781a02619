/** An agent that requests access and a user who decides, with a service and a provider for the tests of a file. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import type { Page } from 'playwright-core'
import { startOAuthServer } from '../server/testkit/oauth-server.ts'
import { startWebPushServer } from '../server/testkit/web-push-server.ts'
import { base, hears, post, postAsAdmin, sees, serve, signIn } from './in-browser.ts'
import type { Visit } from './in-browser.ts'
import { roomy } from './running-service.ts'

const endings: (() => unknown)[] = []
const scope: Parameters<typeof startWebPushServer>[0] = { after: (end) => endings.push(end as () => unknown) }
export const oauth = await startOAuthServer(scope, { registration: true })
/** The push service of the browsers. */
export const pushServer = await startWebPushServer(scope)
await oauth.setRedirectUris([`${base}/v4/oauth/callback/acme`])
serve({
  ...roomy,
  SALLYPORT_EGRESS_ALLOW: `${oauth.host},${pushServer.host}`,
  SALLYPORT_EGRESS_CA_FILE: oauth.caFile,
  SALLYPORT_ACCESS_REQUESTS_PER_HOUR: '1000',
  // Nothing listens there.
  SALLYPORT_SMTP_URL: 'smtps://localhost:1',
  SALLYPORT_MAIL_FROM: 'sallyport@example.com',
})

after(async () => {
  for (const end of endings) await end()
})

export const asking = 'An agent is requesting access'

export interface Asked {
  id: string
  url: string
  /** The agent's view of the request. */
  call: (method: string, path: string, body?: object) => Promise<any>
}

let provider: Promise<void> | undefined

async function createProvider(): Promise<void> {
  const reply = await postAsAdmin('/v4/providers', {
    provider_name: 'Acme',
    slug: 'acme',
    issuer_url: oauth.issuer,
    scopes: ['openid', 'offline_access', 'email'],
    api_hosts: ['api.acme.example', 'files.acme.example', '*.acme.example'],
    client_id: oauth.client.clientId,
    client_secret: oauth.client.clientSecret,
  })
  assert.equal(reply.status, 201, await reply.text())
}

export async function ask(wish: object = {}, name = 'Mail helper'): Promise<Asked> {
  await (provider ??= createProvider())
  const registered = (await (await post('/v4/agents/register', { name })).json()) as { access_token: string }
  const call = caller(registered.access_token)
  const { access_request_id: id, approval_url: url } = await call('POST', '/v4/access-requests', {
    provider: 'acme',
    ...wish,
  })
  return { id, url, call }
}

function caller(token: string): Asked['call'] {
  return async (method, path, body) => {
    const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) }
    const reply = await fetch(base + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    assert.ok(reply.ok, `${method} ${path}: ${reply.status}`)
    return reply.json()
  }
}

/** A signed-in user with accounts at the provider. */
export async function arrive(visit: Visit, email: string, accounts: string[] = ['ada']): Promise<Page> {
  await (provider ??= createProvider())
  const page = await signIn(visit, email)
  const call = await asPerson(page)
  for (const account of accounts) {
    const { authorization_url: url } = await call('POST', '/v4/oauth/connect/start', { provider_slug: 'acme' })
    await page.goto(await oauth.approve(url, { account }))
    await hears(page, 'The account is connected.')
  }
  return page
}

export async function asPerson(page: Page): Promise<Asked['call']> {
  const session = (await page.context().cookies()).find(({ name }) => name === 'svc_session')
  return caller(session?.value ?? '')
}

export async function open(page: Page, { url }: Asked): Promise<void> {
  await page.goto(url)
  await sees(page, asking)
}

/** What is wrong stands at its field. */
export async function complains(page: Page, text: string): Promise<void> {
  await page.getByRole('alert').filter({ hasText: text }).waitFor()
}

/** Opens the terms that are behind “Adjust”. */
export async function adjust(page: Page): Promise<void> {
  await page.locator('summary').filter({ hasText: 'Adjust' }).click()
}

/** The terms of the agent's only grant. */
export async function granted({ call }: Asked): Promise<object> {
  const { grants } = await call('GET', '/v4/grants')
  assert.equal(grants.length, 1)
  const { allowed_hosts, allowed_methods, allowed_paths, max_calls, created_at, expires_at } = grants[0]
  const { mode, exceptions, max_access } = grants[0]
  const hours = expires_at && Math.round((Date.parse(expires_at) - Date.parse(created_at)) / 3_600_000)
  return { allowed_hosts, allowed_methods, allowed_paths, max_calls, hours, mode, exceptions, max_access }
}
