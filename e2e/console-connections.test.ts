/** Accounts at providers: connected, renewed and ended in the console, at the real pages of a real provider. */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { oauthPaths } from '../server/testkit/oauth-server.ts'
import { assertAccessible } from './accessible.ts'
import { arrive, assertFits, oauth, register } from './console-people.ts'
import { base, hears, inBrowser, press, sees } from './in-browser.ts'

const account = (page: Page, name: string) =>
  page.getByRole('listitem').filter({ has: page.getByRole('heading', { name }) })

/** At the provider: who one is there, and yes or no. */
async function consent(page: Page, name: string, answer: 'Allow' | 'Refuse'): Promise<void> {
  await page.getByLabel('Name').fill(name)
  await press(page, 'Sign in')
  await press(page, answer)
}

inBrowser('an account is connected through the provider’s own pages', [], async (visit) => {
  const person = await arrive(visit, 'ada')
  const page = await person.open('/connections', 'Connections')
  await page.getByText('No account is connected yet').waitFor()
  await assertAccessible(page)
  await page.getByRole('link', { name: 'Connect an account' }).click()
  await sees(page, 'Connect an account')
  await page.getByLabel('Search').fill('nothing of that name')
  await page.getByText('None is called so.').waitFor()
  await page.getByLabel('Search').fill('bet')
  await assertAccessible(page)
  await press(page, 'Connect Beta')
  await consent(page, 'ada', 'Allow')
  await sees(page, 'Connections')
  await hears(page, 'The account is connected.')
  assert.equal(page.url(), `${base}/connections`)
  await account(page, 'ada@example.com').getByText('Healthy').waitFor()
  await assertAccessible(page)

  await page.goto(`${base}/connections/new`)
  await press(page, 'Connect Beta')
  await page.getByText('wants to use the account').waitFor()
  await press(page, 'Refuse')
  await sees(page, 'Connections')
  await hears(page, 'Access was refused at the provider.')
  assert.equal(page.url(), `${base}/connections`)
  const { body } = await person.call('GET', '/v4/connections')
  assert.equal(body.connections.length, 1)
})

inBrowser('a code connects an account that is signed in elsewhere', [], async (visit) => {
  const person = await arrive(visit, 'grace')
  const lift = oauth.fault.change(oauthPaths.deviceAuthorization, (answer) => ({ ...answer, interval: 1 }))
  const page = await person.open('/connections/new', 'Connect an account')
  const enterCode = async (answer: 'Continue' | 'Refuse') => {
    await sees(page, 'Enter this code')
    const code = await page.locator('bdi[translate=no]').innerText()
    const link = page.getByRole('link', { name: `Open ${oauth.host}` })
    assert.equal(await link.getAttribute('rel'), 'noopener noreferrer')
    const elsewhere = await visit(`${oauth.issuer}${oauthPaths.device}`)
    await elsewhere.locator('input[name=user_code]').fill(code)
    await press(elsewhere, 'Continue')
    await press(elsewhere, answer)
    return elsewhere
  }
  await press(page, 'Connect Beta with a code')
  await sees(page, 'Enter this code')
  await page.getByRole('img', { name: 'for the camera of a phone' }).waitFor()
  await page.getByRole('progressbar').waitFor()
  await assertAccessible(page)
  const elsewhere = await enterCode('Continue')
  await consent(elsewhere, 'grace', 'Allow')
  await elsewhere.getByRole('heading', { name: 'Device connected' }).waitFor()
  await sees(page, 'Connections')
  await hears(page, 'The account is connected.')
  await account(page, 'grace@example.com').getByText('Healthy').waitFor()

  await page.getByRole('link', { name: 'Connect an account' }).click()
  await press(page, 'Connect Beta with a code')
  await enterCode('Refuse')
  await sees(page, 'Not connected')
  await page.getByText('Access was refused at the provider.').waitFor()
  await assertAccessible(page)
  await press(page, 'Get a new code')
  await sees(page, 'Enter this code')
  await press(page, 'Back')
  await sees(page, 'Connect an account')
  lift()
})

inBrowser('an account that needs its person says so by itself, and signing in again heals it', [], async (visit) => {
  const person = await arrive(visit, 'linus')
  const lift = oauth.fault.change(oauthPaths.token, (answer) => ({ ...answer, expires_in: 1 }))
  const id = await person.connect('linus')
  lift()
  const agent = await register()
  const grant = await person.approve(await agent.ask(), { connection_id: id })
  const page = await person.open('/connections', 'Connections')
  await account(page, 'linus@example.com').getByText('Healthy').waitFor()
  await oauth.endGrants('linus')
  assert.equal((await agent.read(grant)).code, 'connection_needs_reauth')
  await account(page, 'linus@example.com').getByText('Needs sign-in again').waitFor()
  await assertAccessible(page)

  await press(page, 'Sign in again: linus@example.com')
  await consent(page, 'somebody-else', 'Allow')
  await sees(page, 'Connections')
  await hears(page, 'That was another account than the one to be renewed.')
  await page.context().clearCookies({ domain: new URL(oauth.issuer).hostname, name: /^_/ })
  await press(page, 'Sign in again: linus@example.com')
  await consent(page, 'linus', 'Allow')
  await hears(page, 'The account is connected.')
  await account(page, 'linus@example.com').getByText('Healthy').waitFor()
  assert.equal((await agent.read(grant)).upstream, 200)
})

inBrowser('disconnecting says which grants it ends, and ends them', [], async (visit) => {
  const person = await arrive(visit, 'edsger')
  const [first, second] = [await person.connect('edsger'), await person.connect('edsger-at-work')]
  const agent = await register('Mail helper')
  const grant = await person.approve(await agent.ask(), { connection_id: first, allowed_methods: ['GET'] })
  const other = await person.approve(await agent.ask(), { connection_id: second })
  assert.equal((await agent.read(grant)).upstream, 200)

  const page = await person.open('/connections', 'Connections')
  const row = account(page, 'edsger@example.com')
  await row.getByRole('link', { name: '1 grant' }).waitFor()
  const opener = page.getByRole('button', { name: 'Disconnect edsger@example.com at Beta' })
  await opener.focus()
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Disconnect this account?' })
  await dialog.getByText('Mail helper may only read').waitFor()
  await dialog.getByText('This ends 1 grant at once and for good').waitFor()
  await assertAccessible(page)
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'hidden' })
  await page.locator(':focus').and(opener).waitFor()
  assert.equal((await agent.read(grant)).upstream, 200)

  await opener.click()
  await dialog.getByRole('button', { name: 'Disconnect' }).click()
  await hears(page, 'The account is disconnected. The provider has ended its tokens too.')
  await sees(page, 'Connections')
  await row.waitFor({ state: 'detached' })
  await account(page, 'edsger-at-work@example.com').waitFor()
  assert.equal((await agent.read(grant)).code, 'grant_revoked')
  assert.equal((await agent.read(other)).upstream, 200)
})

inBrowser('of a provider that nobody answers for one is warned before one goes there', [], async (visit) => {
  const person = await arrive(visit, 'carol')
  const agent = await register()
  const name = `Open <b>house</b> ${'x'.repeat(70)}`
  const { status } = await agent.call('POST', '/v4/providers/proposals', {
    provider_name: name,
    issuer_url: oauth.issuer,
  })
  assert.equal(status, 201)
  const page = await person.open('/connections/new', 'Connect an account')
  await page.getByText('nobody answers for it').waitFor()
  await assertFits(page)
  await press(page, `Connect ${name}`)
  await sees(page, 'Do you trust this provider?')
  await page.getByText('An agent proposed this provider').waitFor()
  await assertAccessible(page)
  await press(page, 'Back')
  await sees(page, 'Connect an account')
  const unreadable = `${oauth.issuer}${oauthPaths.device}?${'é'.repeat(1500)}`
  const change = (answer: object) => ({ ...answer, verification_uri_complete: unreadable, user_code: 'W'.repeat(64) })
  const lift = oauth.fault.change(oauthPaths.deviceAuthorization, change)
  await press(page, `Connect ${name} with a code`)
  await sees(page, 'Do you trust this provider?')
  lift()
  assert.equal(await page.getByText('W'.repeat(64)).count(), 0)
  await press(page, 'Go on')
  await sees(page, 'Enter this code')
  await page.getByText('W'.repeat(64)).waitFor()
  assert.equal(await page.getByRole('img', { name: 'for the camera of a phone' }).count(), 0)
  await assertFits(page)
  await press(page, 'Back')
  await press(page, `Connect ${name}`)
  await press(page, 'Go on')
  await page.getByLabel('Name').waitFor()
  assert.equal(new URL(page.url()).host, oauth.host)
})

inBrowser('accounts of others are not shown, and no name breaks out of its place', [], async (visit) => {
  const person = await arrive(visit, 'mallory')
  const odd = `<img src=x onerror="document.title='gone'">${'w'.repeat(60)}`
  const id = await person.connect(odd)
  const agent = await register(`\u05d0\u05d1\u05d2 <script>document.title='gone'</script>${'m'.repeat(40)}`)
  await person.approve(await agent.ask(), { connection_id: id })
  const victim = await arrive(visit, 'victor')
  await victim.connect('victor')
  const page = await person.open('/connections', 'Connections')
  await page.getByRole('heading', { name: odd.slice(0, 30) }).waitFor()
  assert.equal(await page.getByText('victor').count(), 0)
  await assertFits(page)
  await page.getByRole('button', { name: /^Disconnect/ }).click()
  await page.getByRole('dialog').getByText('This ends 1 grant').waitFor()
  await assertFits(page)
  assert.equal(await page.title(), 'Connections · Sallyport')
  assert.equal(await page.locator('main img, main script').count(), 0)
})
