/**
 * From an empty data directory to a connected GitHub account and an approved agent, in a browser alone. It is shown as
 * pictures in docs/console.md, which `npm run film` takes, and it is a test.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import type { IncomingMessage, RequestListener } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Browser, Page } from 'playwright-core'
import { createAgentClient, registerAgent } from '@sallyport/sdk'
import { sharedAuthority } from '../server/testkit/certificates.ts'
import { createGitHubSite, githubPaths } from '../server/testkit/github-site.ts'
import type { GitHubApp } from '../server/testkit/github-site.ts'
import { startTlsUpstream } from '../server/testkit/tls-upstream.ts'
import { dataFolder, startService } from './running-service.ts'

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const sees = (page: Page, heading: string) => page.getByRole('heading', { name: heading, level: 1 }).waitFor()

type Scope = Parameters<typeof startService>[0]

interface Filming {
  launch: (flags: string[]) => Promise<Browser>
  /** Called at each step that is worth a picture. */
  picture: (name: string, page: Page) => Promise<void>
}

export async function filmFirstAccount(t: Scope, port: number, { launch, picture }: Filming): Promise<void> {
  const base = `http://localhost:${port}`
  const app: GitHubApp = {
    clientId: 'Ov23liExampleClientId',
    clientSecret: '1f2e3d4c5b6a79880f1e2d3c4b5a697887766554',
    redirectUri: `${base}/v4/oauth/callback/github`,
  }
  const { settings, flags } = await startGitHub(t, app)
  const service = await startService(t, 'sqlite', { PORT: String(port), ...settings })
  const browser = await launch(flags)
  t.after(() => browser.close())
  const viewport = { width: 1280, height: 800 }
  const context = await browser.newContext({ ignoreHTTPSErrors: true, reducedMotion: 'reduce', viewport })
  const page = await context.newPage()

  await page.goto(/\S+#login_token=\S+/.exec(service.stdout)?.[0] ?? '')
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  await picture('1-sign-in', page)
  await press(page, 'Sign in')
  await sees(page, 'Home')
  const setUp = page.getByRole('link', { name: 'Set up sign-in with GitHub, Google and others' })
  await setUp.waitFor()
  await picture('2-first-steps', page)

  await setUp.click()
  await sees(page, 'Providers')
  await page.getByLabel('Search providers').fill('github')
  await page.getByRole('link', { name: 'GitHub' }).click()
  await sees(page, 'Set up GitHub')
  await page.getByLabel('Client ID').fill(app.clientId)
  await page.getByLabel('Client secret').fill(app.clientSecret)
  await page.setViewportSize({ width: 1280, height: 1020 })
  await picture('3-set-up-github', page)
  await page.setViewportSize(viewport)
  await press(page, 'Test and save')
  await page.getByRole('heading', { name: 'Enter its credentials (done)' }).waitFor()
  await page.getByRole('link', { name: 'Connect your account' }).first().click()
  await sees(page, 'Connect GitHub')
  await page.getByRole('radio', { name: 'Sign in with GitHub', checked: true }).waitFor()
  await picture('4-connect', page)
  await press(page, 'Continue to GitHub')
  await page.getByRole('button', { name: 'Authorize' }).click()
  await sees(page, 'Connections')
  await page.getByText('ada').first().waitFor()
  await picture('5-connected', page)

  await page.getByRole('link', { name: 'Grants' }).click()
  await page.getByRole('link', { name: 'Connect an agent' }).click()
  await sees(page, 'Connect your agent')
  await picture('6-connect-an-agent', page)
  const { agent, id } = await askAsAgent(base, page)
  await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Home' }).click()
  await page.getByRole('link', { name: 'Decide on Claude Code' }).waitFor()
  await picture('7-it-asks', page)

  await page.getByRole('link', { name: 'Decide on Claude Code' }).click()
  await sees(page, 'An agent is requesting access')
  await page.setViewportSize({ width: 390, height: 844 })
  await page.locator('button[aria-disabled=false]', { hasText: 'Approve' }).waitFor()
  await picture('8-approve', page)
  await press(page, 'Approve')
  await sees(page, 'Access granted')
  await page.setViewportSize(viewport)
  const { grant_id } = await agent.waitForGrant(id)
  const reply = await agent.proxy({ grant_id, method: 'GET', url: 'https://api.github.com/user' })
  assert.deepEqual([reply.status, (reply.body as { login: string }).login], [200, 'ada'])
  await page.goto(`${base}/grants`)
  await page.getByRole('link', { name: 'What it does: Claude Code' }).click()
  await page.getByText('read api.github.com/user').first().waitFor()
  await picture('9-what-it-did', page)
}

/** What the agent does by itself: it registers, and asks this user. */
async function askAsAgent(base: string, page: Page) {
  const { access_token: token } = await registerAgent({ baseUrl: base, name: 'Claude Code' })
  const agent = createAgentClient({ baseUrl: base, token })
  const userId = await page.evaluate<string>(`fetch('/v4/auth/me').then((r) => r.json()).then((me) => me.user.user_id)`)
  const { access_request_id: id } = await agent.requestAccess({
    provider: 'github',
    user_id: userId,
    hosts: ['api.github.com'],
    methods: ['GET', 'POST'],
    paths: ['/user', '/repos/ada/engine'],
    reason: 'To look after the issues of your repository “engine”.',
  })
  return { agent, id }
}

/** GitHub as far as it is needed here, behind its own names, for the service and for the browser. */
async function startGitHub(t: Scope, app: GitHubApp) {
  const authority = await sharedAuthority()
  const site = createGitHubSite(app, { ada: { id: 1815, name: 'Ada Lovelace' } })
  const certificate = await authority.issue({ names: ['github.com', 'api.github.com'] })
  const answer = async (request: IncomingMessage) => {
    const url = new URL(request.url ?? '/', `https://${request.headers.host ?? ''}`)
    if (url.hostname === 'api.github.com') return site.callApi(`/api/v3${url.pathname}`, request.headers)
    if (url.pathname === githubPaths.token) {
      const form = new URLSearchParams(await text(request))
      return { status: 200, body: site.exchange(form, form.get('client_id'), form.get('client_secret')) }
    }
    if (!url.searchParams.has('agreed')) return { status: 200, body: consentPage(url) }
    const answered = site.authorize(url.searchParams, { login: 'ada', allows: true })
    const back = new URL(answered.headers?.['location'] ?? '')
    back.searchParams.set('iss', 'https://github.com/login/oauth')
    return { status: 302, headers: { location: back.href } }
  }
  const listener: RequestListener = (request, response) => {
    answer(request).then(
      ({ status, headers, body = '' }: { status: number; headers?: Record<string, string>; body?: unknown }) => {
        const isPage = typeof body === 'string'
        response.writeHead(status, { 'content-type': isPage ? 'text/html' : 'application/json', ...headers })
        response.end(isPage ? body : JSON.stringify(body))
      },
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  }
  const { port } = await startTlsUpstream(t, certificate, listener)
  const folder = dataFolder(t)
  const names = join(folder, 'internet.json')
  const at = (address: string) => ({ addresses: [address], port })
  writeFileSync(names, JSON.stringify({ 'github.com': at('93.184.216.1'), 'api.github.com': at('93.184.216.2') }))
  return {
    settings: {
      SALLYPORT_EGRESS_ALLOW: '93.184.216.0/24',
      SALLYPORT_EGRESS_CA_FILE: authority.caFile,
      NODE_OPTIONS: `--import=${new URL('./internet.mjs', import.meta.url).pathname}`,
      TEST_INTERNET: names,
    },
    flags: [`--host-resolver-rules=MAP github.com 127.0.0.1:${port}`],
  }
}

function consentPage(asked: URL): string {
  asked.searchParams.set('agreed', 'yes')
  const action = `${asked.pathname}${asked.search}`.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  return `<!doctype html><title>Authorize</title><form method="post" action="${action}"><button>Authorize</button></form>`
}
