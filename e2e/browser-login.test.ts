/** Signing in with a provider, in a real browser, and what the page says of how a sign-in or a connection ended. */
import assert from 'node:assert/strict'
import { connectErrorCodes } from '@sallyport/protocol/connections'
import { loginErrorCodes } from '@sallyport/protocol/sessions'
import type { Page } from 'playwright-core'
import { startLoginWorld } from '../server/testkit/login.ts'
import { base, hears, inBrowser, issueLink, notSignedIn, press, sees, serve, showsWho, signIn } from './in-browser.ts'

const world = await startLoginWorld({ github: { accounts: { hubert: { id: 7, name: 'Hubert' } } } }, base)
serve({ ...world.settings, SALLYPORT_SIGNUP: 'open', SALLYPORT_OIDC_NAME: 'Example <b>Inc.</b>' })

const byGitHub = 'Continue with GitHub'
const byOidc = 'Continue with Example <b>Inc.</b>'

async function follow(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name, exact: true }).click()
}

async function signInAtProvider(page: Page, account: string): Promise<void> {
  await page.getByLabel('Name').fill(account)
  await press(page, 'Sign in')
  await press(page, 'Allow')
}

inBrowser('a user signs in with a provider and returns to the page', [notSignedIn], async (visit) => {
  const page = await visit()
  await sees(page, 'Sign in')
  await follow(page, byOidc)
  await signInAtProvider(page, 'grace')
  await sees(page, 'Home')
  await showsWho(page, 'grace')
  assert.equal(page.url(), `${base}/`)
  const names = (await page.context().cookies(`${base}/v4/auth/`)).map(({ name }) => name)
  assert.ok(names.includes('svc_session') && !names.includes('svc_login'), names.join())
  await page.goto(`${base}/account`)
  // Wait for the list of sessions, or the page would request it after the sign-out.
  await page.getByText('This session', { exact: true }).waitFor()
  await press(page, 'Sign out')
  await sees(page, 'Sign in')
  await follow(page, byGitHub)
  await sees(page, 'Home')
  await showsWho(page, 'Hubert')
})

inBrowser('a user who denies is told so and can choose again', [notSignedIn], async (visit) => {
  const page = await visit()
  await follow(page, byOidc)
  await page.getByLabel('Name').fill('grace')
  await press(page, 'Sign in')
  await press(page, 'Refuse')
  await sees(page, 'Sign in')
  await hears(page, 'Access was denied at the provider.')
  assert.equal(page.url(), `${base}/`)
  await page.reload()
  await sees(page, 'Sign in')
  assert.equal(await page.getByRole('status').textContent(), '')
})

inBrowser('every result in the URL is shown as a sentence, never as markup', [notSignedIn], async (visit) => {
  const page = await visit()
  const codes = new Set([...loginErrorCodes, ...connectErrorCodes])
  const heard = new Set<string>()
  for (const code of codes) {
    await page.goto(`${base}/?error=${code}`)
    await hears(page, /\w/)
    heard.add((await page.getByRole('status').textContent()) ?? '')
    assert.equal(page.url(), `${base}/`)
  }
  assert.equal(heard.size, codes.size)
  for (const code of ['<img src=x onerror=alert(1)>', 'constructor', '__proto__', '', 'x'.repeat(3000)]) {
    await page.goto(`${base}/?error=${encodeURIComponent(code)}`)
    await hears(page, /^Something went wrong\. Please start again\.$/)
    assert.equal(await page.locator('main img, [role=status] *').count(), 0)
  }
})

inBrowser('no URL makes the page claim that an account was connected', [], async (visit) => {
  const page = await signIn(visit, 'ada@example.com')
  const drawn = 'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))'
  const nobodys = 'con_01k9x3v7qmf5v8t2w4y6z8abcd'
  for (const id of ['con_1', '', '../audit', nobodys]) {
    const answers = (id === nobodys ? ['created', 'renewed'] : []).map((what) =>
      page.waitForResponse(new RegExp(`/v4/audit\\?.*connection\\.${what}`)),
    )
    await page.goto(`${base}/?connection_id=${encodeURIComponent(id)}&other=1`)
    await sees(page, 'Home')
    await Promise.all(answers)
    await page.evaluate(drawn)
    assert.equal(await page.getByRole('status').textContent(), '', id)
    assert.equal(page.url(), `${base}/?other=1`)
  }
})

const resume = '/v4/oauth/resume'

inBrowser('a waiting connection continues after sign-in with a token', [notSignedIn], async (visit) => {
  const page = await visit(`${base}/?connect=waiting`)
  await page.getByText('After you sign in, your account will be connected.').waitFor()
  await page.getByLabel('Sign-in link or login token').fill((await issueLink('emmy@example.com')).login_url)
  await press(page, 'Continue')
  const goesOn = page.waitForRequest(`${base}${resume}`)
  await press(page, 'Sign in')
  await goesOn
  // Nothing is waiting here, which the service reports in the URL.
  await sees(page, 'Home')
  await showsWho(page, 'emmy')
  await hears(page, 'Please start again.')
  assert.equal(page.url(), `${base}/`)
})

inBrowser('a waiting connection continues after sign-in with a provider', [notSignedIn], async (visit) => {
  const page = await visit(`${base}/?connect=waiting`)
  const goesOn = page.waitForRequest(`${base}${resume}`)
  await follow(page, byGitHub)
  await goesOn
  await sees(page, 'Home')
  await showsWho(page, 'Hubert')
})

inBrowser('a waiting connection continues immediately for a signed-in user', [], async (visit) => {
  const page = await signIn(visit, 'rosa@example.com')
  const goesOn = page.waitForRequest(`${base}${resume}`)
  await page.goto(`${base}/?connect=waiting`)
  await goesOn
  await sees(page, 'Home')
  await showsWho(page, 'rosa')
})

const missing = '404 /v4/access-requests/'

inBrowser('provider sign-in returns to the access request', [notSignedIn, missing], async (visit) => {
  const id = `arq_${'0'.repeat(26)}`
  const page = await visit(`${base}/?decide=${id}`)
  await follow(page, byGitHub)
  await sees(page, 'Request not found')
  assert.equal(page.url(), `${base}/approve-proxy/${id}`)
})

inBrowser('the sign-in methods fit a phone', [notSignedIn], async (visit) => {
  const page = await visit()
  await sees(page, 'Sign in')
  for (const width of [320, 390]) {
    await page.setViewportSize({ width, height: 800 })
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width)
    assert.ok(await page.getByRole('link', { name: byOidc }).isVisible())
  }
})
