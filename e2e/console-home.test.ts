/** The home page with pending requests and live activity, and the grants page. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createDeviceClient, generateDeviceKey, pairDevice } from '@sallyport/sdk'
import type { Page } from 'playwright-core'
import { assertAccessible } from './accessible.ts'
import { arrive, assertFits, oauth, register } from './console-people.ts'
import { base, hears, inBrowser, sees, startScreen, press } from './in-browser.ts'

const region = (page: Page, name: string) => page.getByRole('region', { name, exact: true })
const grantOf = (page: Page, name: string) =>
  page.getByRole('listitem').filter({ has: page.getByRole('heading', { name, exact: true }) })

inBrowser('a new user sees the three steps and the commands of the start screen', [], async (visit) => {
  const person = await arrive(visit, 'newcomer')
  const page = await person.open('/', 'Home')
  for (const step of ['Connect an account', 'Give an agent this address', 'Decide when it asks']) {
    await page.getByRole('heading', { name: step }).waitFor()
  }
  const commands = await page.locator('pre code').allInnerTexts()
  assert.equal(commands.length, 4)
  for (const command of commands) assert.ok(startScreen().includes(command), command)
  await assertAccessible(page)
  await assertFits(page)
  await page.getByRole('link', { name: 'Connect an account' }).click()
  await sees(page, 'Connect an account')
})

inBrowser('an agent is set up in steps, and the sandbox is tried without a terminal', [], async (visit) => {
  const person = await arrive(visit, 'hopper')
  const page = await person.open('/', 'Home')
  await page.getByRole('link', { name: 'Connect your agent' }).click()
  await sees(page, 'Connect your agent')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: base })
  await page.getByText('Cursor', { exact: true }).click()
  await page.waitForURL('**/connect-agent?client=cursor')
  await press(page, 'Copy step 2')
  await hears(page, 'Copied.')
  const copied = await page.evaluate('navigator.clipboard.readText()')
  assert.equal(copied, `sallyport register "Cursor" --profile cursor --url ${base}`)
  await page.reload()
  await page.getByText('~/.cursor/mcp.json').waitFor()

  const sent: string[] = []
  page.on('request', (request) => sent.push(new URL(request.url()).pathname))
  await press(page, 'Run the sandbox')
  const answer = page.getByRole('group', { name: 'The answer that the agent got' })
  assert.match(await answer.innerText(), /^200\n[^]*"authorization": "Bearer \[REDACTED\]"/)
  await press(page, 'Run it again')
  await answer.waitFor()
  assert.equal(sent.filter((path) => path === '/v4/agents/register').length, 1)
  assert.equal(sent.filter((path) => path === '/v4/proxy').length, 2)
  const kept = 'JSON.stringify([document.documentElement.outerHTML, { ...localStorage }, { ...sessionStorage }])'
  assert.doesNotMatch(await page.evaluate<string>(kept), /sp_agent_/)
  await assertAccessible(page)
  await assertFits(page)
})

inBrowser('a request appears live, and disappears when it is cancelled', [], async (visit) => {
  const person = await arrive(visit, 'ada')
  await person.connect('ada')
  const page = await person.open('/', 'Home')
  // The checklist of new users ticks as they go.
  await page.getByRole('heading', { name: 'Connect an account (done)' }).waitFor()
  const agent = await register('Mail helper')
  const reason = 'I sort your post.\nAnd <b>more</b>.'
  const wish = { user_id: person.userId, reason }
  const id = await agent.ask(wish)
  const waiting = region(page, 'Waiting for you').getByRole('listitem')
  await waiting.getByText('Mail helper is requesting access to Beta').waitFor()
  await page.getByRole('heading', { name: 'Give an agent this address (done)' }).waitFor()
  assert.equal(await waiting.getByRole('blockquote').innerText(), reason)
  await waiting.getByText(/^Expires in /).waitFor()
  await region(page, 'Recent activity').getByText('Mail helper requested access to beta.').waitFor()

  await agent.call('POST', `/v4/access-requests/${id}/cancel`, {})
  await waiting.waitFor({ state: 'detached' })
  await region(page, 'Recent activity').getByText('Mail helper cancelled its request.').waitFor()

  await page.getByRole('link', { name: 'Grants' }).click()
  await sees(page, 'Grants')
  const next = await agent.ask(wish)
  await page.getByRole('link', { name: 'Home 1 pending request' }).click()
  await page.getByRole('link', { name: 'Decide on Mail helper' }).click()
  await page.waitForURL(`**/approve-proxy/${next}`)
  await sees(page, 'An agent is requesting access')
})

inBrowser('calls appear live as sentences, and so does what needs attention', [], async (visit) => {
  const person = await arrive(visit, 'grace')
  const stale = await person.connect('grace-stale')
  const id = await person.connect('grace')
  const agent = await register('Mail helper')
  const soon = new Date(Date.now() + 5 * 3_600_000).toISOString()
  const terms = { connection_id: id, allowed_methods: ['GET'], expires_at: soon }
  const grant = await person.approve(await agent.ask(), terms)
  const page = await person.open('/', 'Home')
  const recent = region(page, 'Recent activity')
  await recent.getByText('You granted access to Mail helper.').waitFor()
  const expiring = region(page, 'Needs your attention').getByText(/^Access for Mail helper expires in /)
  assert.equal(await expiring.count(), 0, 'most of its time is left')
  await page.clock.setSystemTime(Date.now() + 4 * 3_600_000)
  await page.reload()
  await expiring.waitFor()
  await agent.read(grant)
  await recent.getByText(`Mail helper read ${oauth.host}/api/whoami, answered 200.`).waitFor()
  await agent.read(grant, '/api/nothing')
  await recent.getByText(`Mail helper tried to read ${oauth.host}/api/nothing, answered 404.`).waitFor()
  await agent.call('POST', '/v4/proxy', { grant_id: grant, method: 'DELETE', url: `https://${oauth.host}/api/x` })
  await recent.getByText(/tried to delete .*, refused: this method isn’t allowed by the grant\.$/).waitFor()

  const other = await person.approve(await agent.ask(), { connection_id: stale })
  await oauth.endGrants('grace-stale')
  assert.equal((await agent.read(other)).code, 'connection_needs_reauth')
  await region(page, 'Needs your attention').getByText('Beta no longer accepts grace-stale@example.com.').waitFor()
  await assertAccessible(page)
  await page.getByRole('link', { name: 'Sign in again' }).click()
  await sees(page, 'Connections')
})

inBrowser('agents are paused from every page, and another tab shows it', [], async (visit) => {
  const person = await arrive(visit, 'adele')
  const id = await person.connect('adele')
  const agent = await register('Mail helper')
  const grant = await person.approve(await agent.ask(), { connection_id: id, allowed_methods: ['GET'] })
  const page = await person.open('/grants', 'Grants')
  const other = await person.open('/', 'Home')
  await page.getByRole('button', { name: 'Pause all agents' }).click()
  await hears(page, 'All agents are paused. Nothing goes out until you resume them.')
  await other.getByText(/^You paused all agents /).waitFor()
  assert.equal((await agent.read(grant)).code, 'paused')
  await region(other, 'Recent activity').getByText('You paused all agents.').waitFor()
  await assertAccessible(page)
  await assertFits(page)
  await other.getByRole('button', { name: 'Resume all agents' }).click()
  await page.getByText(/^You paused all agents /).waitFor({ state: 'detached' })
  assert.equal((await agent.read(grant)).upstream, 200)
})

inBrowser('a grant is described in words; revoking is immediate and said to be permanent', [], async (visit) => {
  const person = await arrive(visit, 'edsger')
  const id = await person.connect('edsger')
  const agent = await register('Mail helper')
  const terms = { connection_id: id, allowed_methods: ['GET'], allowed_hosts: [oauth.host], max_calls: 3 }
  const grant = await person.approve(await agent.ask(), terms)
  const page = await person.open('/grants', 'Grants')
  const row = grantOf(page, 'Mail helper')
  const sentence = `Mail helper may only read (GET) on ${oauth.host}, using edsger@example.com at Beta, up to 3 calls, until you revoke it. It doesn’t ask you before calls.`
  await row.getByText(sentence).waitFor()
  await row.getByText('0 of 3 calls').waitFor()
  await row.getByText('Never').waitFor()
  assert.equal((await agent.read(grant)).upstream, 200)
  await row.getByText('1 of 3 calls').waitFor()

  const download = page.waitForEvent('download')
  await row.getByRole('button', { name: 'Download the receipt for Mail helper' }).click()
  const receipt = JSON.parse(readFileSync(await (await download).path(), 'utf8'))
  assert.deepEqual([receipt.grant_id, receipt.signed], [grant, false])
  assert.equal(
    await row.getByRole('link', { name: 'Activity of Mail helper' }).getAttribute('href'),
    `/activity?grant_id=${grant}`,
  )

  const opener = page.getByRole('button', { name: 'Revoke the access of Mail helper' })
  await opener.focus()
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Revoke this access?' })
  await dialog.getByText('This can’t be undone').waitFor()
  await page.keyboard.press('Escape')
  await page.locator(':focus').and(opener).waitFor()
  assert.equal((await agent.read(grant)).upstream, 200)

  const sent: string[] = []
  page.on('request', (request) => sent.push(`${request.method()} ${new URL(request.url()).pathname}`))
  await opener.dblclick()
  await dialog.getByRole('button', { name: 'Revoke' }).dblclick()
  await hears(page, 'Access revoked.')
  await page.getByText('No active grants').waitFor()
  assert.equal(sent.filter((one) => one === `POST /v4/grants/${grant}/revoke`).length, 1)
  assert.equal((await agent.read(grant)).code, 'grant_revoked')

  await page.getByRole('radio', { name: 'Active' }).focus()
  await page.keyboard.press('ArrowRight')
  await page.getByText('No grants have expired yet').waitFor()
  await page.keyboard.press('ArrowRight')
  await row.getByText(/^Mail helper could only read .* until you revoked it: /).waitFor()
  assert.equal(await page.getByRole('button', { name: /^Revoke/ }).count(), 0)
  await assertAccessible(page)
})

inBrowser('an agent has a page, and its grants are narrowed, edited and revoked there', ['400 '], async (visit) => {
  const person = await arrive(visit, 'radia')
  const id = await person.connect('radia')
  const agent = await register('Mail helper')
  const soon = new Date(Date.now() + 86_400_000).toISOString()
  const asked = await agent.ask({ user_id: person.userId })
  const grant = await person.approve(asked, { connection_id: id, expires_at: soon })
  const elsewhere = { grant_id: grant, method: 'GET', url: 'https://elsewhere.example/' }
  await person.approve(await agent.ask(), { connection_id: id, allowed_methods: ['GET'] })
  for (let again = 0; again < 3; again++) assert.equal((await agent.read(grant)).upstream, 200)
  assert.equal((await agent.call('POST', '/v4/proxy', elsewhere)).body.error.code, 'host_not_allowed')

  const page = await person.open('/grants', 'Grants')
  assert.equal(await page.getByText('Expires soon').count(), 0, 'a grant for a day is new')
  await page.getByRole('link', { name: 'What it does: Mail helper' }).click()
  await sees(page, 'Mail helper')
  await page.reload()
  await sees(page, 'Mail helper')
  const now = region(page, 'What it can do now')
  assert.equal(await now.getByRole('button', { name: /^Revoke the access/ }).count(), 2)
  await region(page, 'Today').getByText('3 times').waitFor({ state: 'attached' })
  await region(page, 'Refused in the last 7 days').getByText('this host isn’t allowed by the grant').waitFor()
  await assertAccessible(page)
  await assertFits(page)

  const card = now.getByRole('listitem').filter({ has: page.getByText('3 calls', { exact: true }) })
  await card.getByText('Tighten or edit').click()
  await card.getByText('In the last 30 days it made 3 calls').waitFor()
  await card.getByRole('button', { name: 'Narrow to that' }).click()
  await hears(page, 'The grant now allows only what was used.')
  await card.getByText('The grant allows no more than that.').waitFor()
  const termsNow = async () => {
    const { grants } = (await person.call('GET', '/v4/grants')).body
    return grants.find(({ grant_id }: { grant_id: string }) => grant_id === grant)
  }
  assert.deepEqual((await termsNow()).allowed_methods, ['GET'])
  const save = card.getByRole('button', { name: 'Save changes for Mail helper' })
  await card.getByLabel('Paths, one per line').fill('/mail/../x')
  await save.click()
  await card.getByRole('alert').waitFor()
  await card.getByLabel('Paths, one per line').fill('/nowhere')
  await card.getByLabel('When it makes calls').selectOption('Everything asks')
  await save.click()
  await hears(page, 'The grant was changed.')
  assert.deepEqual([(await termsNow()).allowed_paths, (await termsNow()).mode], [['/nowhere'], 'ask_all'])
  assert.equal((await agent.read(grant)).code, 'path_not_allowed')
  await card.getByRole('button', { name: 'Extend by a day: the access of Mail helper' }).click()
  await hears(page, 'The grant lasts a day longer.')
  assert.equal(Date.parse((await termsNow()).expires_at) - Date.parse(soon), 86_400_000)

  await press(page, 'Mute Mail helper')
  await page.getByRole('button', { name: 'Unmute Mail helper' }).waitFor()
  const dialog = page.getByRole('dialog')
  let revoked = 0
  page.on('request', (request) => (revoked += request.url().endsWith('/revoke') ? 1 : 0))
  for (const cancel of [() => press(page, 'Cancel'), () => page.keyboard.press('Escape')]) {
    await press(page, 'Revoke all access of Mail helper')
    await dialog.waitFor()
    await cancel()
    await dialog.waitFor({ state: 'detached' })
  }
  const { grants: kept } = (await person.call('GET', '/v4/grants')).body
  assert.ok(kept.every(({ status }: { status: string }) => status === 'active'))
  assert.equal(revoked, 0, 'what was cancelled does not happen')

  const otherTab = await page.context().newPage()
  await otherTab.goto(`${base}/grants`)
  await grantOf(otherTab, 'Mail helper').first().waitFor()
  await press(page, 'Revoke all access of Mail helper')
  // A dialog that is closed while the request is on its way would look as if nothing happened.
  const held = Promise.withResolvers<undefined>()
  await page.route(/\/revoke$/, async (route) => {
    await held.promise
    await route.continue()
  })
  await dialog.getByRole('button', { name: 'Revoke all' }).click()
  await dialog.locator('button[aria-disabled=true]', { hasText: 'Cancel' }).click({ force: true })
  await page.keyboard.press('Escape')
  assert.equal(await dialog.isVisible(), true)
  held.resolve(undefined)
  await hears(page, 'All its access is revoked.')
  await now.getByText('It has no active grant.').waitFor()
  assert.equal((await agent.read(grant)).code, 'grant_revoked')
  await otherTab.getByText('No active grants').waitFor()
  await page.goBack()
  await sees(page, 'Grants')
  await page.getByText('No active grants').waitFor()
})

inBrowser('what ended is opened again, tightened, renamed and renewed', ['409 '], async (visit) => {
  const person = await arrive(visit, 'maryam')
  await person.connect('maryam')
  const agent = await register('Mail helper')
  const wish = { user_id: person.userId, hosts: [oauth.host], methods: ['GET', 'POST'] }
  const denied = await agent.ask(wish)
  await person.call('POST', `/v4/access-requests/${denied}/deny`, {})
  await agent.ask({ ...wish, methods: ['GET'] })
  const page = await person.open('/', 'Home')
  // It was denied, so what it asks next is not first.
  await page.getByText('1 request of agents that you denied or muted').click()
  await page.getByRole('link', { name: 'Decide on Mail helper' }).waitFor()
  await assertAccessible(page)

  await page.goto(`${base}/approve-proxy/${denied}`)
  await sees(page, 'Already denied')
  await press(page, 'Open again: the request of Mail helper')
  await sees(page, 'An agent is requesting access')
  assert.notEqual(page.url(), `${base}/approve-proxy/${denied}`)
  await page.locator('button[aria-disabled=false]', { hasText: 'Approve' }).click()
  await sees(page, 'Access granted')

  await page.getByRole('link', { name: 'Tighten or edit' }).click()
  await sees(page, 'Grants')
  await press(page, 'Add an exception')
  const exception = page.getByRole('group', { name: 'Exception 1' })
  await exception.getByLabel('What happens').selectOption('Never allow')
  await press(page, 'Save changes for Mail helper')
  await exception.getByRole('alert').filter({ hasText: 'Enter a path' }).waitFor()
  await exception.getByLabel('Paths, one per line').fill('/api/%zz')
  await press(page, 'Save changes for Mail helper')
  await exception.getByRole('alert').waitFor()
  await exception.getByLabel('Paths, one per line').fill('/api/echo')
  await assertAccessible(page)
  await press(page, 'Save changes for Mail helper')
  await hears(page, 'The grant was changed. It applies from now on.')
  const [grant] = (await person.call('GET', '/v4/grants?status=active')).body.grants
  assert.deepEqual(grant.exceptions, [{ paths: ['/api/echo'], action: 'deny' }])
  assert.equal((await agent.read(grant.grant_id, '/api/echo')).status, 403)

  await page.getByRole('link', { name: 'What it does: Mail helper' }).click()
  await press(page, 'Rename for me: Mail helper')
  await press(page, 'Save name')
  await page.getByRole('alert').filter({ hasText: 'Enter a name.' }).waitFor()
  await page.getByLabel('Your name for this agent').fill('Laptop <i>one</i>')
  await assertAccessible(page)
  await assertFits(page)
  await press(page, 'Save name')
  await hears(page, 'The name was saved. Only you see it.')
  await page.getByRole('heading', { name: 'Mail helper you call it “Laptop <i>one</i>”' }).waitFor()

  await person.call('POST', `/v4/grants/${grant.grant_id}/revoke`, {})
  await page.goto(`${base}/grants`)
  await page.getByRole('radio', { name: 'Revoked' }).check({ force: true })
  await press(page, 'Renew the access of Mail helper')
  await sees(page, 'An agent is requesting access')
  await page.getByText('You call this agent “Laptop <i>one</i>”.').waitFor()
  await page.locator('button[aria-disabled=false]', { hasText: 'Approve' }).click()
  await sees(page, 'Access granted')
  const [renewed] = (await person.call('GET', '/v4/grants?status=active')).body.grants
  const { allowed_methods, exceptions } = renewed
  assert.deepEqual({ allowed_methods, exceptions }, { allowed_methods: ['GET', 'POST'], exceptions: grant.exceptions })
})

inBrowser(
  "other users' grants are not shown, they can be filtered by account, and no text breaks the page",
  [],
  async (visit) => {
    const person = await arrive(visit, 'mallory')
    const [one, two] = [await person.connect('mallory'), await person.connect(`<i>m</i>${'w'.repeat(60)}`)]
    const odd = `\u05d0\u05d1 <script>document.title='gone'</script> ${'m'.repeat(50)}`
    const strange = await register(odd)
    const reason = `<img src=x onerror="document.title='gone'">\n${'r'.repeat(900)}`
    await person.approve(await strange.ask(), { connection_id: two })
    await person.approve(await (await register('Mail helper')).ask(), { connection_id: one })
    await strange.ask({ user_id: person.userId, reason })
    const victim = await arrive(visit, 'victor')
    await victim.approve(await (await register('Victors agent')).ask(), {
      connection_id: await victim.connect('victor'),
    })
    await (await register('Victors other agent')).ask({ user_id: victim.userId })

    const page = await person.open(`/grants?account=${one}`, 'Grants')
    await grantOf(page, 'Mail helper').waitFor()
    assert.equal(await page.getByRole('button', { name: /^Revoke/ }).count(), 1)
    await page.getByRole('link', { name: 'Show all' }).click()
    await grantOf(page, odd).waitFor()
    assert.equal(await page.getByRole('button', { name: /^Revoke/ }).count(), 2)
    assert.equal(await page.getByText(/victor/i).count(), 0)
    await assertFits(page)
    await page.getByRole('link', { name: 'Home' }).first().click()
    await sees(page, 'Home')
    await region(page, 'Waiting for you').getByRole('blockquote').waitFor()
    await region(page, 'Recent activity').getByRole('listitem').first().waitFor()
    assert.equal(await page.getByText(/victor/i).count(), 0)
    await assertFits(page)
    await assertAccessible(page)
    assert.equal(await page.title(), '(1) Home · Sallyport')
    assert.equal(await page.locator('main img, main script').count(), 0)
  },
)

inBrowser('a grant signed by a device says so, and its receipt has the signature', [], async (visit) => {
  const person = await arrive(visit, 'barbara')
  const connection = await person.connect('barbara')
  const key = await generateDeviceKey()
  const { pairing_code: pairingCode } = (await person.call('POST', '/v4/devices/pairing-codes', {})).body
  const { session_token: sessionToken } = await pairDevice({ baseUrl: base, pairingCode, key })
  const device = createDeviceClient({ baseUrl: base, sessionToken, key })
  const page = await person.open('/grants', 'Grants')
  const id = await (await register('Mail helper')).ask({ user_id: person.userId })
  await device.accessRequests.approve(id, { connection_id: connection, allowed_methods: ['GET'] })
  const row = grantOf(page, 'Mail helper')
  await row.getByText('Signed by a device').waitFor()
  const download = page.waitForEvent('download')
  await row.getByRole('button', { name: 'Download the receipt for Mail helper' }).click()
  const receipt = JSON.parse(readFileSync(await (await download).path(), 'utf8'))
  assert.deepEqual([receipt.signed, receipt.scope_signed, receipt.decision.allowed_methods], [true, true, ['GET']])
})
