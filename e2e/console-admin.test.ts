/** The admin pages. They need the admin token, which is kept only in the page's memory. */
import assert from 'node:assert/strict'
import { generateDeviceKey, pairDevice } from '@sallyport/sdk'
import type { Page } from 'playwright-core'
import { oauthPaths } from '../server/testkit/oauth-server.ts'
import { assertAccessible } from './accessible.ts'
import { arrive, assertFits, oauth, register } from './console-people.ts'
import { adminToken, base, hears, inBrowser, linkIsOver, notSignedIn, postAsAdmin, press, sees } from './in-browser.ts'
import type { Visit } from './in-browser.ts'
import { eventually } from './running-service.ts'

const card = (page: Page, name: string) =>
  page
    .getByRole('main')
    .getByRole('listitem')
    .filter({ has: page.getByText(name, { exact: true }) })

async function open(visit: Visit, part: 'Providers' | 'Agents' | 'Users' | 'Health'): Promise<Page> {
  const path = part === 'Providers' ? '/admin' : `/admin/${part.toLowerCase()}`
  const page = await visit(base + path)
  await sees(page, 'Administration')
  await page.getByLabel('Admin token').fill(adminToken())
  await page.keyboard.press('Enter')
  await sees(page, part)
  return page
}

/** In the open dialog. */
async function confirm(page: Page, verb: string): Promise<void> {
  await page.getByRole('dialog').getByRole('button', { name: verb, exact: true }).click()
}

async function isFit(page: Page): Promise<void> {
  await page.getByRole('progressbar').waitFor({ state: 'detached' })
  await assertAccessible(page)
  await assertFits(page)
  await page.setViewportSize({ width: 1280, height: 800 })
}

inBrowser('a wrong token is refused; the right one is not stored', ['401 /v4/users'], async (visit) => {
  const page = await visit(`${base}/admin`)
  await sees(page, 'Administration')
  const field = page.getByLabel('Admin token')
  await assertAccessible(page)
  for (const wrong of [`sp_admin_${'0'.repeat(43)}`, 'é', '<b>', '']) {
    await field.fill(wrong)
    await press(page, 'Continue')
    await page.getByRole('alert').filter({ hasText: 'This token is not valid.' }).waitFor()
    await page.locator('button[aria-busy=false]', { hasText: 'Continue' }).waitFor()
  }
  const token = adminToken()
  await field.fill(token)
  await page.keyboard.press('Enter')
  await sees(page, 'Providers')
  for (const part of ['Agents', 'Users', 'Health', 'Providers']) {
    await page.getByRole('navigation', { name: 'Administration' }).getByRole('link', { name: part }).click()
    await sees(page, part)
  }
  const kept = await page.evaluate<string>(`(async () => JSON.stringify([
    { ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state,
    await indexedDB.databases(), await caches.keys(), document.documentElement.outerHTML,
    [...document.querySelectorAll('input')].map(({ value }) => value),
  ]))()`)
  assert.ok(!kept.includes(token) && kept.startsWith('[{},{},"",'), kept.slice(0, 200))
  assert.deepEqual(await page.context().cookies(), [])

  await press(page, 'Lock admin')
  await sees(page, 'Administration')
  assert.equal(await field.inputValue(), '')
  await field.fill(token)
  await press(page, 'Continue')
  await sees(page, 'Providers')
  await page.reload()
  await sees(page, 'Administration')
  assert.equal(await field.inputValue(), '')
  await assertFits(page)
})

inBrowser('all agents are paused and resumed from the admin area, and each person sees it', [], async (visit) => {
  const person = await arrive(visit, 'adele')
  const agent = await register('Mail helper')
  const grant = await person.approve(await agent.ask(), { connection_id: await person.connect('adele') })
  const page = await open(visit, 'Agents')
  await press(page, 'Pause all agents')
  await press(page, 'Pause them')
  await page.getByText(/^All agents of all users have been paused /).waitFor()
  assert.equal((await agent.read(grant)).code, 'paused')
  const home = await person.open('/', 'Home')
  await home.getByText(/^The operator paused all agents of this service /).waitFor()
  await isFit(page)
  await press(page, 'Resume all agents')
  await page.getByText(/^All agents of all users have been paused /).waitFor({ state: 'detached' })
  await home.getByText(/^The operator paused all agents/).waitFor({ state: 'detached' })
  assert.equal((await agent.read(grant)).upstream, 200)
})

inBrowser(
  'providers: from a preset, custom, disabled and enabled, deleted',
  ['400 ', '409 ', '502 '],
  async (visit) => {
    // With endpoints on this machine: without a client, users could enter tokens only.
    const here = { authorization_url: `${oauth.issuer}/auth`, token_url: `${oauth.issuer}/token` }
    const added = await postAsAdmin('/v4/providers', { preset: 'github', ...here })
    assert.equal(added.status, 201, await added.text())
    const page = await open(visit, 'Providers')
    const search = page.getByLabel('Search providers')
    await search.fill('no such provider')
    await page.getByText('No matches').waitFor()
    await search.fill('github')
    await page.getByRole('link', { name: 'GitHub' }).click()
    await sees(page, 'Set up GitHub')
    const vendor = page.getByRole('link', { name: 'Open GitHub' })
    assert.deepEqual(
      [await vendor.getAttribute('href'), await vendor.getAttribute('rel')],
      ['https://github.com/settings/applications/new', 'noreferrer'],
    )
    await page.getByText(`${base}/v4/oauth/callback/github`).waitFor()
    await page.getByRole('button', { name: 'Copy the redirect URL' }).waitFor()
    await isFit(page)
    await press(page, 'Test and save')
    await page.getByRole('alert').filter({ hasText: 'where you registered the OAuth app' }).waitFor()
    await page.getByLabel('Client ID').fill('an-id')
    const secret = page.getByLabel('Client secret')
    await secret.fill('short')
    await press(page, 'Test and save')
    await page.locator('input[aria-invalid=true]').and(secret).waitFor()
    // A made-up client is not saved.
    await secret.fill('a-secret-that-nobody-has-elsewhere')
    await secret.press('Enter')
    await page.getByRole('alert').filter({ hasText: 'GitHub doesn’t know this client ID with this secret' }).waitFor()
    assert.equal(await page.getByText('Connect your account').count(), 2)
    // A provider that is away can't tell. What was entered can be saved all the same.
    const lift = oauth.fault.answer(oauthPaths.token, { status: 503 })
    await press(page, 'Test and save')
    await page.getByText('The credentials could not be tested').waitFor()
    lift()
    await page.getByLabel('Client ID').fill(oauth.client.clientId)
    await secret.fill(oauth.client.clientSecret)
    await press(page, 'Test and save')
    await hears(page, 'GitHub accepted the credentials. They are saved.')
    await page.getByRole('heading', { name: 'Enter its credentials (done)' }).waitFor()
    await page.getByRole('link', { name: 'Connect your account' }).first().waitFor()
    await isFit(page)
    await page.getByRole('link', { name: 'All providers' }).click()
    await sees(page, 'Providers')
    await card(page, 'github').getByText('active').waitFor()

    const wrongAt = async (label: string) => {
      await page
        .locator('input[aria-invalid=true]')
        .and(page.getByLabel(label, { exact: true }))
        .waitFor()
      assert.equal(await page.locator('[aria-invalid=true]').count(), 1)
    }
    await page.getByText('Custom provider').click()
    const own = page.locator('details').filter({ hasText: 'Custom provider' })
    const fill = (label: string, text: string) => own.getByLabel(label, { exact: true }).fill(text)
    const add = () => own.getByRole('button', { name: 'Add provider' }).click()
    await fill('Name', 'Gamma')
    await fill('Slug', 'Not A Slug')
    await fill('Issuer URL', 'http://gamma.example')
    await add()
    await wrongAt('Slug')
    await fill('Slug', 'github')
    await add()
    await wrongAt('Issuer URL')
    await fill('Issuer URL', oauth.issuer)
    await fill('Allowed API hosts', 'https://not-a-host/path')
    await add()
    await wrongAt('Allowed API hosts')
    await fill('Allowed API hosts', `${oauth.host}, api.gamma.example`)
    await add()
    await wrongAt('Slug')
    await isFit(page)
    await fill('Slug', 'gamma')
    await fill('Client ID', oauth.client.clientId)
    await own.getByLabel('Client secret', { exact: true }).fill(oauth.client.clientSecret)
    await page.keyboard.press('Enter')
    await hears(page, 'Gamma was added, and it accepted the credentials.')
    const isEmptied = async () => (await own.getByLabel('Client secret', { exact: true }).inputValue()) === ''
    await eventually(isEmptied, 'the secret stays in its field')
    const others = { Name: 'Zeta', Slug: 'zeta', 'Issuer URL': oauth.issuer, 'Allowed API hosts': oauth.host }
    for (const [label, text] of Object.entries(others)) await fill(label, text)
    await fill('Client ID', oauth.client.clientId)
    await fill('Client secret', 'a-secret-of-somebody-else')
    await add()
    await hears(page, 'Zeta was added, but it doesn’t know this client ID with this secret')
    await eventually(isEmptied, 'the secret stays in its field')
    const gamma = card(page, 'Gamma')
    await gamma.getByText(`allowed API hosts: ${oauth.host}, api.gamma.example`).waitFor()

    await gamma.getByText('Edit name, hosts or scopes').click()
    const hosts = gamma.getByLabel('API hosts')
    assert.equal(await hosts.inputValue(), `${oauth.host} api.gamma.example`)
    await hosts.fill('*.com')
    await press(page, 'Save changes to Gamma')
    await page.locator('input[aria-invalid=true]').and(hosts).waitFor()
    await hosts.fill('api.gamma.example, files.gamma.example')
    await gamma.getByLabel('Scopes').fill('read write')
    await page.keyboard.press('Enter')
    await hears(page, 'Changes saved.')
    await gamma.getByText('allowed API hosts: api.gamma.example, files.gamma.example').waitFor()
    await isFit(page)

    await press(page, 'Disable Gamma')
    await confirm(page, 'Cancel')
    await press(page, 'Disable Gamma')
    await confirm(page, 'Disable')
    await gamma.getByText('disabled', { exact: true }).waitFor()
    await press(page, 'Enable Gamma')
    await hears(page, 'Enabled.')
    await gamma.getByText('active', { exact: true }).waitFor()
    await press(page, 'Delete Gamma')
    await confirm(page, 'Delete')
    await hears(page, 'Deleted.')
    await gamma.waitFor({ state: 'detached' })
    await page.locator('h1:focus').waitFor()

    await (await arrive(visit, 'ada')).connect('ada')
    const again = await open(visit, 'Providers')
    await press(again, 'Delete Beta')
    await confirm(again, 'Delete')
    await again.getByRole('status').filter({ hasText: /req_/ }).waitFor()
    await card(again, 'Beta').getByText('active', { exact: true }).waitFor()
  },
)

inBrowser('health shows a proposal that waits for credentials, and it gets them', [], async (visit) => {
  const agent = await register('Proposer')
  const lift = oauth.fault.answer(oauthPaths.registration, { status: 403 })
  const name = `<i>Delta</i> ${'w'.repeat(60)}`
  const proposed = await agent.call('POST', '/v4/providers/proposals', {
    provider_name: name,
    slug: 'delta',
    issuer_url: oauth.issuer,
  })
  lift()
  assert.deepEqual([proposed.status, proposed.body.status], [201, 'pending_credentials'])

  const page = await open(visit, 'Health')
  const attention = page.getByRole('region', { name: 'Needs attention' })
  await attention.getByText('1 needs credentials').waitFor()
  await page.getByText('SQLite').waitFor()
  await page.getByRole('region', { name: 'Passed checks' }).getByText('valid', { exact: true }).waitFor()
  assert.match(await page.getByRole('main').innerText(), /Version\s+\d+\.\d+\.\d+/)
  await isFit(page)
  await attention.getByRole('link', { name: 'Add credentials' }).click()
  await sees(page, 'Providers')

  const waiting = page.getByRole('region', { name: 'Waiting for credentials' })
  await waiting.getByText(name).waitFor()
  await waiting.getByText('needs credentials').waitFor()
  await waiting.getByText('unverified').waitFor()
  await isFit(page)
  await waiting.getByLabel('Client ID').fill(oauth.client.clientId)
  await waiting.getByLabel('Client secret').fill(oauth.client.clientSecret)
  await waiting.getByRole('button', { name: 'Test and save' }).click()
  await hears(page, /accepted the credentials\. They are saved\./)
  await waiting.waitFor({ state: 'detached' })
  await card(page, name).getByText('active', { exact: true }).waitFor()
  const asked = await agent.call('POST', '/v4/access-requests', { provider: 'delta' })
  assert.equal(asked.status, 201)
  await page.getByRole('link', { name: 'Health' }).click()
  await sees(page, 'Health')
  await attention.getByText('needs credentials').waitFor({ state: 'detached' })
})

inBrowser(
  'a proposal with only a name gets its endpoints, and errors are shown',
  ['400 /v4/providers/'],
  async (visit) => {
    const agent = await register('Proposer of names')
    const proposed = await agent.call('POST', '/v4/providers/proposals', {
      provider_name: 'Epsilon <b>',
      slug: 'epsilon',
    })
    assert.deepEqual([proposed.status, proposed.body.status], [201, 'pending_credentials'])
    const page = await open(visit, 'Providers')
    const waiting = page.getByRole('region', { name: 'Waiting for credentials' })
    await waiting.getByText('Epsilon <b>').waitFor()
    await waiting.getByText('needs endpoints').waitFor()
    assert.equal(await waiting.getByLabel('Client ID').count(), 0, 'credentials come after the endpoints')
    await isFit(page)
    await waiting.getByLabel('Token URL').fill(`${oauth.issuer}/token`)
    await waiting.getByRole('button', { name: 'Save endpoints' }).click()
    await waiting.getByText('"authorization_url" is missing').waitFor()
    await waiting.getByLabel('Token URL').fill('')
    await waiting.getByLabel('Issuer URL').fill(oauth.issuer)
    await waiting.getByRole('button', { name: 'Save endpoints' }).click()
    await hears(page, 'Endpoints saved.')
    await card(page, 'Epsilon <b>').getByText('active', { exact: true }).waitFor()
  },
)

inBrowser('an agent is found, disabled, and enabled again with its grants', [], async (visit) => {
  const odd = `<b>Bad</b> agent \u05d0\u05d1 ${'m'.repeat(60)}`
  const agent = await register(odd)
  const page = await open(visit, 'Agents')
  await card(page, odd).waitFor()
  const search = page.getByLabel('Search agents')
  await search.fill('no such agent')
  await page.getByText('No matches').waitFor()
  await search.fill('bad AGENT')
  await card(page, odd).getByText('0 active grants').waitFor()
  await isFit(page)
  assert.equal((await agent.call('GET', '/v4/agents/me')).status, 200)
  await page.getByRole('button', { name: `Disable ${odd}`, exact: true }).press('Enter')
  await page.getByRole('dialog').getByText('You can enable it again later.').waitFor()
  await assertAccessible(page)
  await confirm(page, 'Disable')
  await hears(page, 'The agent is disabled.')
  await card(page, odd).getByText('disabled', { exact: true }).waitFor()
  await page.locator('h1:focus').waitFor()
  assert.equal((await agent.call('GET', '/v4/agents/me')).status, 401)
  await press(page, `Enable ${odd}`)
  await page.getByRole('dialog').getByText('stay ended').waitFor()
  await confirm(page, 'Enable')
  await hears(page, 'The agent is enabled.')
  await page.getByRole('button', { name: `Disable ${odd}`, exact: true }).waitFor()
  assert.equal((await agent.call('GET', '/v4/agents/me')).status, 200)
  assert.equal(await page.getByRole('main').locator('b').count(), 0)
})

const ofUsers = [linkIsOver, notSignedIn, '400 /v4/auth/login-tokens', '401 ']

inBrowser('users: a one-time link, lost devices, disabling and enabling', ofUsers, async (visit) => {
  const page = await open(visit, 'Users')
  await press(page, 'Create sign-in link')
  await page.getByRole('alert').filter({ hasText: 'Enter the user’s email address' }).waitFor()
  await page.getByLabel('Email address').fill('not an address')
  await page.keyboard.press('Enter')
  await page.locator('input[aria-invalid=true]').and(page.getByLabel('Email address')).waitFor()
  await page.getByLabel('Email address').fill('grace@example.com')
  await page.getByLabel('Name (new users)').fill('Grace <b>H</b>')
  await press(page, 'Create sign-in link')
  const link = await page.getByLabel('Send this link to the user').inputValue()
  await card(page, 'Grace <b>H</b>').getByText('grace@example.com').waitFor()
  await isFit(page)
  const theirs = await visit(link)
  await press(theirs, 'Sign in')
  await sees(theirs, 'Home')
  const late = await visit(link)
  await sees(late, 'This link no longer works')
  assert.equal(await late.getByRole('button', { name: 'Sign in', exact: true }).count(), 0)

  await press(page, 'Sign-in link for Grace <b>H</b>')
  const fresh = await card(page, 'Grace <b>H</b>').getByLabel('Send this link to the user').inputValue()
  const grace = await visit(fresh)
  await press(grace, 'Sign in')
  await sees(grace, 'Home')

  const person = await arrive(visit, 'linus')
  const { body: code } = await person.call('POST', '/v4/devices/pairing-codes')
  await pairDevice({ baseUrl: base, pairingCode: code.pairing_code, key: await generateDeviceKey() })
  assert.equal((await person.call('PATCH', '/v4/auth/me', { require_device_approval: true })).status, 200)
  const again = await open(visit, 'Users')
  await card(again, 'linus').getByText('approves on device only').waitFor()
  await press(again, 'Lost devices: linus')
  await again.getByRole('dialog').getByText('an attacker would ask for exactly this').waitFor()
  await confirm(again, 'Allow in the console')
  await hears(again, 'The user can approve in the console again.')
  assert.equal((await person.call('GET', '/v4/auth/me')).body.user.require_device_approval, false)

  await press(again, 'Disable Grace <b>H</b>')
  await confirm(again, 'Disable')
  await hears(again, 'The user is disabled')
  await card(again, 'Grace <b>H</b>').getByText('disabled', { exact: true }).waitFor()
  // The user's page notices by itself.
  await theirs.getByLabel('Sign-in link or login token').waitFor()
  await again.getByLabel('Search users').fill('GRACE@example')
  await card(again, 'linus').waitFor({ state: 'detached' })
  await press(again, 'Enable Grace <b>H</b>')
  await again.getByRole('dialog').getByText('can sign in again').waitFor()
  await isFit(again)
  await confirm(again, 'Enable')
  await hears(again, 'The user is enabled')
  await again.getByRole('button', { name: 'Disable Grace <b>H</b>', exact: true }).waitFor()
})
