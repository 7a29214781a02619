/** The page behind the sign-in link. */
import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'
import { assertAccessible } from './accessible.ts'
import {
  base,
  hears,
  inBrowser,
  issueLink,
  isUsable,
  linkIsOver,
  notSignedIn,
  post,
  press,
  sees,
  shows,
  serve,
  service,
  sessionIsOver,
  showsWho,
  signIn,
  startScreen,
} from './in-browser.ts'

serve()

/** The URLs in the history; the page cannot see the first one as it was typed. */
async function visitedAddresses(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page)
  const { entries } = await session.send('Page.getNavigationHistory')
  return entries.map(({ url }) => url)
}

async function openAccount(page: Page): Promise<void> {
  await page.getByRole('link', { name: /^Signed in as / }).click()
  await sees(page, 'Account')
  // Wait for the list, or the page would request it in a session that the test has ended.
  await sessionRows(page).filter({ hasText: 'This session' }).waitFor()
}

function sessionRows(page: Page): Locator {
  return page.getByRole('region', { name: 'Your sessions' }).getByRole('listitem')
}

inBrowser("the start screen's link signs the owner in, once", [notSignedIn, linkIsOver], async (visit) => {
  const link = /\S+#login_token=\S+/.exec(startScreen())?.[0] ?? ''
  const page = await visit(link)
  await sees(page, 'Sign in as owner?')
  assert.equal(page.url(), `${base}/`)
  await press(page, 'Sign in')
  await sees(page, 'Home')
  await showsWho(page, 'owner')

  const [cookie, ...others] = await page.context().cookies()
  assert.equal(cookie?.name, 'svc_session')
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path], [true, 'Lax', '/'])
  assert.deepEqual(others, [])
  assert.equal(await page.evaluate('document.cookie'), '')
  assert.doesNotMatch(await page.content(), /sp_(?:login|session)_[0-9A-Za-z]/)
  assert.equal(await page.evaluate('localStorage.length + sessionStorage.length'), 0)

  // On this machine the owner is the operator too, and needs no admin token.
  const operating = await page.context().newPage()
  await operating.goto(`${base}/admin`)
  await sees(operating, 'Providers')
  await operating.getByRole('link', { name: 'GitHub' }).click()
  await sees(operating, 'Set up GitHub')
  await operating.close()

  const again = await page.context().newPage()
  await again.goto(link)
  await sees(again, 'Home')
  await hears(again, 'This link no longer works')
  await sees(await visit(link), 'This link no longer works')
})

inBrowser('the token is in no URL and no history, wherever the link is opened', [notSignedIn], async (visit) => {
  const first = await issueLink('henriette@example.com')
  const page = await visit(first.login_url)
  await sees(page, 'Sign in as henriette?')
  const second = await issueLink('josephine@example.com')
  await page.evaluate(`location.href = ${JSON.stringify(second.login_url)}`)
  await sees(page, 'Sign in as josephine?')
  const addresses = await visitedAddresses(page)
  assert.ok(addresses.includes(`${base}/`))
  assert.deepEqual(
    addresses.filter((address) => address.includes('login_token')),
    [],
  )
  await page.reload()
  await sees(page, 'Sign in')
})

inBrowser('opening a link does nothing without a click', [notSignedIn], async (visit) => {
  const { login_url, login_token } = await issueLink('ida@example.com')
  const page = await visit(login_url)
  await sees(page, 'Sign in as ida?')
  await page.getByText('ida@example.com').waitFor()
  assert.deepEqual(await page.context().cookies(), [])
  await press(page, 'Not now')
  await sees(page, 'Sign in')
  assert.deepEqual(await page.context().cookies(), [])
  assert.ok(await isUsable(login_token))
})

inBrowser('a link that would switch the user says so first', [], async (visit) => {
  const page = await signIn(visit, 'hedy@example.com')
  await page.goto('about:blank')
  await page.goto((await issueLink('eve@example.com')).login_url)
  await sees(page, 'Sign in as eve?')
  await page.getByText('You’re signed in as hedy.').waitFor()
  await press(page, 'Not now')
  await showsWho(page, 'hedy')
  await page.goto('about:blank')
  await page.goto((await issueLink('hedy@example.com')).login_url)
  await sees(page, 'Sign in as hedy?')
  assert.equal(await page.getByText('You’re signed in as').count(), 0)
})

const failed = ['404 /assets/', 'Failed to fetch dynamically imported module']

inBrowser('a view that a newer service no longer has says so in its place, and loads again', failed, async (visit) => {
  const page = await signIn(visit, 'ida@example.com')
  await page.route(/assets\/grants-/, (route) => route.fulfill({ status: 404 }))
  await page.getByRole('link', { name: 'Grants' }).click()
  await sees(page, 'This page couldn’t be loaded')
  await page.unroute(/assets\/grants-/)
  await press(page, 'Try again')
  await sees(page, 'Grants')
})

const away = [...failed, 'Failed to load resource: net::ERR_', '503 /readyz']
const awayBanner = (page: Page, text: string) => page.getByRole('status').filter({ hasText: text })

inBrowser(
  'offline, a view that was not opened before leaves the rest in place, and opens once online',
  away,
  async (visit) => {
    const page = await signIn(visit, 'ida@example.com')
    await page.context().setOffline(true)
    await awayBanner(page, 'You’re offline. This page is as of').waitFor()
    await page.getByRole('link', { name: 'Grants' }).click()
    await sees(page, 'This page couldn’t be loaded')
    await press(page, 'Try again')
    await hears(page, 'This page still can’t be loaded.')
    await assertAccessible(page)
    await page.getByRole('link', { name: 'Home', exact: true }).click()
    await sees(page, 'Home')
    await page.getByRole('link', { name: 'Grants' }).click()
    await sees(page, 'This page couldn’t be loaded')
    await page.context().setOffline(false)
    await sees(page, 'Grants')
    await awayBanner(page, 'You’re offline').waitFor({ state: 'detached' })
  },
)

inBrowser('while the service is stopped every page says so, and afterwards shows what is new', away, async (visit) => {
  const page = await signIn(visit, 'ida@example.com')
  const other = await page.context().newPage()
  await other.goto(`${base}/account`)
  await sees(other, 'Account')
  await service().stop()
  await awayBanner(page, 'The service can’t be reached.').waitFor()
  await other.getByRole('link', { name: 'Home', exact: true }).click()
  await awayBanner(other, 'The service can’t be reached.').waitFor()
  await press(page, 'Try now')
  await awayBanner(page, 'The service can’t be reached.').waitFor()
  await service().startAgain()
  for (const one of [page, other]) {
    await awayBanner(one, 'The service can’t be reached.').waitFor({ state: 'detached' })
  }
  await press(other, 'Pause all agents')
  await page.getByText('Their calls are refused until you resume them').waitFor()
})

inBrowser('the second click of a double click does nothing', [sessionIsOver], async (visit) => {
  await signIn(visit, 'grace@example.com')
  await signIn(visit, 'grace@example.com')
  const page = await visit((await issueLink('grace@example.com')).login_url)
  const sent: string[] = []
  page.on('request', (request) => sent.push(`${request.method()} ${new URL(request.url()).pathname}`))
  await page.getByRole('button', { name: 'Sign in' }).dblclick()
  await shows(page, 'Home')
  assert.equal(sent.filter((one) => one === 'POST /v4/auth/login').length, 1)

  await openAccount(page)
  const end = page.getByRole('button', { name: /^End the session/ })
  await end.nth(1).waitFor()
  await end.first().scrollIntoViewIfNeeded()
  const box = await end.first().boundingBox()
  assert.ok(box)
  await page.mouse.click(box.x + 5, box.y + 5)
  await hears(page, 'was ended')
  await end.nth(1).waitFor({ state: 'detached' })
  // The second click lands on the row that has moved up.
  const next = await end.first().boundingBox()
  assert.ok(next && Math.abs(next.y - box.y) < 2)
  await page.mouse.down({ clickCount: 2 })
  await page.mouse.up({ clickCount: 2 })
  assert.equal(await end.count(), 1)
  await end.click()
  await end.waitFor({ state: 'detached' })
  assert.equal(sent.filter((one) => one.startsWith('DELETE')).length, 2)
})

const tooLong = '400 /v4/auth/login/preview'

inBrowser('a token can be pasted with the keyboard only', [notSignedIn, tooLong], async (visit) => {
  const page = await visit()
  await sees(page, 'Sign in')
  await page.getByText('sallyport login-link --email you@example.com').waitFor()
  const field = page.getByLabel('Sign-in link or login token')
  await field.focus()
  await page.keyboard.type('<b>garbage</b>')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').filter({ hasText: 'That’s not a login token' }).waitFor()
  assert.equal(await field.getAttribute('aria-invalid'), 'true')
  await field.fill(`sp_login_${'x'.repeat(500)}`)
  await page.keyboard.press('Enter')
  await sees(page, 'This link no longer works')
  await field.fill((await issueLink('emmy@example.com')).login_url)
  await field.press('Enter')
  await sees(page, 'Sign in as emmy?')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await sees(page, 'Home')
  await showsWho(page, 'emmy')
})

inBrowser('signing out ends the session and clears the cookie', [notSignedIn], async (visit) => {
  const page = await signIn(visit, 'rosa@example.com')
  const [cookie] = await page.context().cookies()
  const me = async () =>
    (await fetch(`${base}/v4/auth/me`, { headers: { cookie: `svc_session=${cookie?.value}` } })).status
  assert.equal(await me(), 200)
  await openAccount(page)
  await press(page, 'Sign out')
  await sees(page, 'Sign in')
  await hears(page, 'You’re signed out.')
  assert.deepEqual(await page.context().cookies(), [])
  assert.equal(await me(), 401)
  await page.reload()
  await sees(page, 'Sign in')
})

const over = ['401 /v4/auth/', 'Failed to load resource: net::ERR_FAILED']

inBrowser('signing out everywhere ends the session of another browser', over, async (visit) => {
  const first = await signIn(visit, 'lise@example.com')
  // It gets no live updates, and notices with its next request.
  await first.route('**/v4/events', (route) => route.abort())
  await first.reload()
  await openAccount(first)
  const second = await signIn(visit, 'lise@example.com')
  await openAccount(second)
  await sessionRows(second).nth(1).waitFor()
  await press(second, 'Sign out everywhere')
  await press(second, 'Cancel')
  await press(second, 'Sign out everywhere')
  await press(second, 'End all sessions')
  await sees(second, 'Sign in')
  await hears(second, 'You’re signed out everywhere.')
  await press(first, 'Sign out')
  await sees(first, 'Your session has ended')
})

inBrowser('a single session can be ended', [sessionIsOver], async (visit) => {
  const first = await signIn(visit, 'maria@example.com')
  const second = await signIn(visit, 'maria@example.com')
  await openAccount(second)
  await second.getByRole('button', { name: /^End the session/ }).click()
  await hears(second, 'was ended')
  await second.locator('h2:focus', { hasText: 'Your sessions' }).waitFor()
  await sessionRows(second).filter({ hasText: 'This session' }).waitFor()
  assert.equal(await sessionRows(second).count(), 1)
  await first.reload()
  await sees(first, 'Sign in')
  await second.reload()
  await sees(second, 'Account')
  await showsWho(second, 'maria')
})

const offline = 'Failed to load resource: net::ERR_INTERNET_DISCONNECTED'

inBrowser(
  'a lost connection is reported, and the same click works again, or none is needed',
  [notSignedIn, offline],
  async (visit) => {
    const page = await visit((await issueLink('ada@example.com')).login_url)
    await sees(page, 'Sign in as ada?')
    await page.context().setOffline(true)
    await press(page, 'Sign in')
    await hears(page, 'The service isn’t responding')
    await page.context().setOffline(false)
    await press(page, 'Sign in')
    await sees(page, 'Home')
    await openAccount(page)
    await press(page, 'Sign out')
    await sees(page, 'Sign in')
    await page.context().setOffline(true)
    await page.getByRole('textbox').fill((await issueLink('ada@example.com')).login_token)
    await press(page, 'Continue')
    await sees(page, 'The service can’t be reached')
    await page.context().setOffline(false)
    await sees(page, 'Sign in as ada?')
  },
)

inBrowser('an error of the service is shown with its message and request id', ['403 '], async (visit) => {
  const page = await signIn(visit, 'vera@example.com')
  await openAccount(page)
  const agent = (await (await post('/v4/agents/register', { name: 'an agent' })).json()) as { access_token: string }
  // A bearer token takes precedence over the cookie, and an agent has no session to end.
  await page.setExtraHTTPHeaders({ authorization: `Bearer ${agent.access_token}` })
  await press(page, 'Sign out')
  await hears(page, /^This call requires a user's session, not an agent token\. \(req_[0-9a-z]+\)$/)
})

inBrowser("the page has the start screen's commands and fits a phone", [], async (visit) => {
  const page = await signIn(visit, 'mary@example.com')
  await openAccount(page)
  const lines = await page.locator('pre code').allTextContents()
  const printed = startScreen()
    .split('\n')
    .map((line) => line.trim())
  assert.deepEqual(lines, printed.slice(printed.indexOf(lines[0] ?? ''), printed.indexOf(lines[0] ?? '') + 4))
  for (const width of [320, 390]) {
    await page.setViewportSize({ width, height: 800 })
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width)
  }
})

inBrowser(
  'no inline script and no inline style runs in the page',
  ['Executing inline', 'Applying inline'],
  async (visit, complaints) => {
    const page = await signIn(visit, 'hedy@example.com')
    await page.evaluate(`
    const script = document.createElement('script')
    script.textContent = 'window.hasRun = true'
    const style = document.createElement('style')
    style.textContent = 'body { display: none }'
    document.body.append(script, style)`)
    assert.equal(await page.evaluate('window.hasRun'), undefined)
    assert.ok(await page.locator('body').isVisible())
    assert.equal(complaints.length, 2)
  },
)
