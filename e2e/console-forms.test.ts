/** Connecting with a credential that the user enters in the console: forms, errors at their field, replacing. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible } from './accessible.ts'
import { base, hears, inBrowser, issueLink, post, postAsAdmin, press, sees, serve } from './in-browser.ts'
import type { Visit } from './in-browser.ts'
import { adasKey, adasNewKey, gracesKey, startKeyApi } from './key-api.ts'
import { dataFolder, roomy } from './running-service.ts'

const endings: (() => unknown)[] = []
const scope: Parameters<typeof startKeyApi>[0] = { after: (end) => endings.push(end as () => unknown) }
const api = await startKeyApi(scope)
const { host, accounts, github } = api
serve({
  ...roomy,
  SALLYPORT_EGRESS_ALLOW: host,
  SALLYPORT_EGRESS_CA_FILE: api.caFile,
  SALLYPORT_CONNECTS_PER_HOUR: '1000',
})
after(async () => {
  for (const end of endings) await end()
})

let providers: Promise<void> | undefined

async function createProviders(): Promise<void> {
  const keys = api.checked('Create a key in the settings of your account.')
  const inject = [{ in: 'header', name: 'x-api-key', template: '{api_key}:{site_key}' }]
  const members = [{ name: 'api_key' }, { name: 'site_key', label: 'Site key' }]
  const unchecked = { kind: 'api_key', name: 'two_keys', label: 'Two keys', members, inject }
  const given = [
    { provider_name: 'Keys', slug: 'keys', api_hosts: [host], auth_methods: [keys] },
    { provider_name: 'Apps', slug: 'apps', api_hosts: [host], auth_methods: [api.app] },
    { provider_name: 'Several', slug: 'several', api_hosts: [host], auth_methods: [keys, unchecked] },
  ]
  for (const body of given) assert.equal((await postAsAdmin('/v4/providers', body)).status, 201)
}

interface Person {
  call: (method: string, path: string, body?: object) => Promise<{ status: number; body: any }>
  open: (path: string, heading: string) => Promise<Page>
}

async function arrive(visit: Visit, name: string): Promise<Person> {
  await (providers ??= createProviders())
  const { login_token } = await issueLink(`${name}@example.com`)
  const { session_token: token } = (await (await post('/v4/auth/login', { login_token })).json()) as {
    session_token: string
  }
  return {
    call: async (method, path, body) => {
      const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) }
      const reply = await fetch(base + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
      return { status: reply.status, body: await reply.json() }
    },
    open: async (path, heading) => {
      const page = await visit('about:blank')
      await page.context().addCookies([{ name: 'svc_session', value: token, url: base }])
      await page.goto(base + path)
      await sees(page, heading)
      return page
    },
  }
}

const account = (page: Page, name: string) =>
  page.getByRole('listitem').filter({ has: page.getByRole('heading', { name }) })

/** The error at this field, which is the only one. */
async function faultAt(page: Page, label: string, text: string): Promise<void> {
  await page.getByRole('alert').filter({ hasText: text }).waitFor()
  const field = page.getByRole('textbox', { name: label, exact: true })
  await page.locator('[aria-invalid=true]').and(field).waitFor()
  assert.equal(await page.locator('[aria-invalid=true]').count(), 1)
}

async function connectionsOf(person: Person): Promise<any[]> {
  return (await person.call('GET', '/v4/connections')).body.connections
}

async function fits(page: Page): Promise<void> {
  await assertAccessible(page)
  await page.setViewportSize({ width: 320, height: 640 })
  assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320)
  await page.setViewportSize({ width: 1280, height: 800 })
}

/** An agent called "Mail helper" asks for access. Returns the id of its request. */
async function askFor(provider: string): Promise<string> {
  const registered = await post('/v4/agents/register', { name: 'Mail helper' })
  const { access_token: token } = (await registered.json()) as { access_token: string }
  const asked = await post('/v4/access-requests', { provider }, { authorization: `Bearer ${token}` })
  return ((await asked.json()) as { access_request_id: string }).access_request_id
}

inBrowser('an account is connected with a key; a wrong one is refused at its field', ['400 '], async (visit) => {
  const person = await arrive(visit, 'ada')
  const page = await person.open('/connections/new', 'Connect an account')
  await page.getByRole('searchbox').fill('no such thing')
  await page.getByText('No matches').waitFor()
  await assertAccessible(page)
  await page.getByRole('searchbox').fill('key')
  await page.getByRole('link', { name: 'Connect Keys', exact: true }).click()
  await sees(page, 'Connect Keys')
  await page.getByText('Create a key in the settings of your account.').waitFor()
  assert.equal(await page.getByRole('radio').count(), 0)
  assert.equal(await page.getByText(/Sign in with|Use a code/).count(), 0)
  await fits(page)
  const field = page.getByRole('textbox', { name: 'API key', exact: true })
  assert.deepEqual([await field.getAttribute('type'), await field.getAttribute('autocomplete')], ['password', 'off'])
  await press(page, 'Connect')
  await faultAt(page, 'API key', 'API key must not be empty.')
  await field.fill('short')
  await field.press('Enter')
  await faultAt(page, 'API key', 'API key is shorter than 16 characters')
  await field.fill('sk_live_this-is-nobodys-key')
  await press(page, 'Connect')
  await faultAt(page, 'API key', 'Keys didn’t accept this key. It answered with status 401. Nothing was stored.')
  await fits(page)
  assert.deepEqual(await connectionsOf(person), [])
  await field.fill(adasKey)
  await press(page, 'Connect')
  await sees(page, 'Connections')
  await hears(page, 'The account is connected.')
  await account(page, 'ada').getByText('Healthy').waitFor()
  const kept = await page.evaluate<string>(`JSON.stringify([
    { ...localStorage }, { ...sessionStorage }, location.href, history.state, document.documentElement.outerHTML,
  ])`)
  assert.ok(!kept.includes(adasKey))
  await page.goto(`${base}/connections/new/keys`)
  await sees(page, 'Connect Keys')
  assert.equal(await field.inputValue(), '')
})

inBrowser('a credential is replaced by another of the same account alone', ['409 '], async (visit) => {
  const person = await arrive(visit, 'grace')
  const made = await person.call('POST', '/v4/connections', { provider_slug: 'keys', credential: { api_key: adasKey } })
  const page = await person.open('/connections', 'Connections')
  await page.getByRole('link', { name: 'Replace key: ada' }).click()
  await sees(page, 'Replace the key')
  await page.getByText('Grants stay, because it has to belong to the same account.').waitFor()
  await fits(page)
  const field = page.getByRole('textbox', { name: 'API key', exact: true })
  await field.fill(gracesKey)
  await press(page, 'Replace key')
  await faultAt(page, 'API key', 'This belongs to another account, so nothing was changed.')
  await field.fill(adasNewKey)
  await field.press('Enter')
  await sees(page, 'Connections')
  await hears(page, 'The new credential is stored.')

  accounts.delete(adasNewKey)
  const id = made.body.connection_id as string
  assert.equal((await person.call('POST', `/v4/connections/${id}/check`)).body.status, 'needs_reauth')
  await account(page, 'ada').getByText('New key needed').waitFor()
  await assertAccessible(page)
  accounts.set(adasNewKey, 'ada')
  await page.getByRole('link', { name: 'Replace key: ada' }).click()
  await sees(page, 'Replace the key')
  await field.fill(adasNewKey)
  await press(page, 'Replace key')
  await account(page, 'ada').getByText('Healthy').waitFor()

  const other = await arrive(visit, 'mallory')
  const theirs = await other.open(`/connections/${id}/credential`, 'Not available')
  assert.equal(await theirs.locator('input').count(), 0)
})

inBrowser('where nobody can tell whose key it is, replacing it says which grants end', [], async (visit) => {
  const person = await arrive(visit, 'edsger')
  const page = await person.open('/connections/new/several', 'Connect Several')
  await page.getByRole('radio', { name: 'Two keys' }).check()
  await assertAccessible(page)
  await page.getByRole('textbox', { name: 'API key', exact: true }).fill(adasKey)
  await page.getByLabel('Site key', { exact: true }).fill(gracesKey)
  await page.getByLabel('Name of the account (optional)').fill('Work')
  await press(page, 'Connect')
  await account(page, 'Work').getByText('Healthy').waitFor()
  const [{ connection_id: id }] = await connectionsOf(person)
  const requestId = await askFor('several')
  const approval = { connection_id: id, allowed_methods: ['GET'] }
  await person.call('POST', `/v4/access-requests/${requestId}/approve`, approval)
  await page.getByRole('link', { name: 'Replace key: Work' }).click()
  await page.getByText('Replacing it permanently ends 1 grant').waitFor()
  await page.getByText('Mail helper').waitFor()
  await fits(page)
  await page.getByRole('textbox', { name: 'API key', exact: true }).fill(adasNewKey)
  await page.getByLabel('Site key', { exact: true }).fill(gracesKey)
  await press(page, 'Replace key and end 1 grant')
  await sees(page, 'Connections')
  const { body } = await person.call('GET', '/v4/grants')
  assert.equal(body.grants[0].status, 'revoked')
})

inBrowser(
  'a key is pasted or uploaded as a file, and a wrong file is refused at its field',
  ['400 '],
  async (visit) => {
    const person = await arrive(visit, 'margaret')
    const folder = dataFolder(scope)
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text)
      return join(folder, name)
    }
    const page = await person.open('/connections/new/apps', 'Connect Apps')
    const { app_id, installation_id, private_key: pem } = github.credential
    const field = page.getByRole('textbox', { name: 'Private key', exact: true })
    const upload = page.getByLabel('Choose a file for Private key')
    await page.getByRole('textbox', { name: 'App ID' }).fill(app_id)
    await page.getByRole('textbox', { name: 'Installation ID' }).fill(installation_id)
    await press(page, 'Connect')
    await faultAt(page, 'Private key', 'Private key must not be empty.')
    await field.fill('-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----')
    await press(page, 'Connect')
    await faultAt(page, 'Private key', 'is a public key or a certificate. Enter the private key.')
    await upload.setInputFiles(file('account.json', JSON.stringify({ type: 'service_account', private_key: 'x' })))
    await page.getByText('account.json').waitFor()
    await press(page, 'Connect')
    await faultAt(page, 'Private key', 'Private key is not a private key in PEM format.')
    await upload.setInputFiles(file('movie.pem', 'x'.repeat(100_000)))
    await faultAt(page, 'Private key', 'movie.pem is too large for a key')
    await fits(page)
    assert.deepEqual(await connectionsOf(person), [])
    await upload.setInputFiles(file('app.pem', pem))
    await page.getByText('app.pem').waitFor()
    const shownAs = `getComputedStyle(document.querySelector('textarea')).getPropertyValue('-webkit-text-security')`
    assert.equal(await page.evaluate(shownAs), 'disc')
    await fits(page)
    await press(page, 'Connect')
    await sees(page, 'Connections')
    await account(page, 'ada-labs (agents)').getByText('Healthy').waitFor()
  },
)

inBrowser('a preset is connected that no administrator has added', ['400 '], async (visit) => {
  const person = await arrive(visit, 'linus')
  const page = await person.open('/connections/new', 'Connect an account')
  await page.getByRole('searchbox').fill('spotify')
  await page.getByText('Spotify is not set up yet').waitFor()
  await page.getByRole('searchbox').fill('perplex')
  await page.getByRole('link', { name: 'Connect Perplexity' }).click()
  await sees(page, 'Connect Perplexity')
  const link = page.getByRole('link', { name: 'Instructions on docs.perplexity.ai' })
  assert.equal(await link.getAttribute('rel'), 'noopener noreferrer')
  await page.getByRole('textbox', { name: 'API key', exact: true }).fill('short')
  await press(page, 'Connect')
  await faultAt(page, 'API key', 'API key is shorter')
  const slugs = async () => (await person.call('GET', '/v4/providers')).body.providers.map((one: any) => one.slug)
  assert.ok(!(await slugs()).includes('perplexity'))
  await page.getByRole('textbox', { name: 'API key', exact: true }).fill(adasKey)
  await page.getByLabel('Name of the account (optional)').fill('Research')
  await press(page, 'Connect')
  await account(page, 'Research').getByText('Healthy').waitFor()
  assert.ok((await slugs()).includes('perplexity'))
})

inBrowser('an account is connected while deciding about a request', [], async (visit) => {
  const person = await arrive(visit, 'barbara')
  const requestId = await askFor('keys')
  const page = await person.open(`/approve-proxy/${requestId}`, 'An agent is requesting access')
  await press(page, 'Connect an account')
  await sees(page, 'Connect Keys')
  await page.getByRole('textbox', { name: 'API key', exact: true }).fill(gracesKey)
  await press(page, 'Connect')
  await sees(page, 'An agent is requesting access')
  await page.locator('button[aria-disabled=false]', { hasText: 'Approve' }).click()
  await sees(page, 'Access granted')
})
