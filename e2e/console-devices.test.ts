/** Devices in the console, and muted and blocked agents. */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { createDeviceClient, generateDeviceKey, pairDevice } from '@sallyport/sdk'
import { assertAccessible } from './accessible.ts'
import { arrive, assertFits, register } from './console-people.ts'
import { base, hears, inBrowser, inWholeBrowser, issueLink, postAsAdmin, press, sees, shows } from './in-browser.ts'
import { eventually } from './running-service.ts'

inWholeBrowser()

inBrowser('a denied agent is muted, can be blocked, and unblocked again', [], async (visit) => {
  const person = await arrive(visit, 'ada')
  const odd = `<b>Pushy</b> \u05d0\u05d1 ${'m'.repeat(70)}`
  const agent = await register(odd)
  const ask = () => agent.ask({ user_id: person.userId })
  const page = await person.open('/devices', 'Devices')
  const silent = page.getByRole('region', { name: 'Muted agents' })
  await silent.getByText('None.').waitFor()
  assert.equal((await person.call('POST', `/v4/access-requests/${await ask()}/deny`, {})).status, 200)
  await silent.getByText(/^Muted until /).waitFor()
  await assertAccessible(page)
  await assertFits(page)

  await page.getByRole('button', { name: `Block ${odd}` }).press('Enter')
  await hears(page, 'The agent is blocked.')
  await silent.getByText('Muted permanently: its requests are neither notified nor listed').waitFor()
  await page.locator('h1:focus').waitFor()
  await ask()
  const waiting = async () => (await person.call('GET', '/v4/access-requests/pending')).body.access_requests.length
  assert.equal(await waiting(), 0)
  await press(page, `Unmute ${odd}`)
  await hears(page, 'The agent is unmuted.')
  await silent.getByText('None.').waitFor()
  assert.equal(await waiting(), 1)
  assert.equal(await page.locator('main b').count(), 0)
})

inBrowser('a device appears when it is paired, and is signed out when removed', ['401 '], async (visit) => {
  const person = await arrive(visit, 'grace')
  const page = await person.open('/devices', 'Devices')
  await page.getByText('No devices yet').waitFor()
  await press(page, 'Pair a device')
  await page.getByText('A phone can’t pair at this address.').waitFor()
  await assertAccessible(page)
  await assertFits(page)
  const code = await page.getByRole('region', { name: 'Pair a device' }).locator('.select-all').innerText()
  const key = await generateDeviceKey()
  const name = `<i>Phone</i> ${'w'.repeat(40)}`
  const paired = await pairDevice({ baseUrl: base, pairingCode: code, key, deviceName: name })
  await hears(page, 'The device is paired.')
  const list = page.getByRole('region', { name: 'Paired', exact: true })
  await list.getByText('Can approve', { exact: true }).waitFor()
  const device = createDeviceClient({
    baseUrl: base,
    sessionToken: paired.session_token,
    key,
  })
  assert.equal((await device.me()).user.user_id, person.userId)

  // Disabled and enabled again: whoever was signed in before may have paired it.
  for (const verb of ['disable', 'enable']) await postAsAdmin(`/v4/users/${person.userId}/${verb}`)
  const { login_url: link } = await issueLink('grace@example.com')
  await page.goto(link)
  await press(page, 'Sign in')
  await page.getByText('1 paired device can’t approve until you confirm it.').waitFor()
  await assertAccessible(page)
  await page.getByRole('link', { name: 'View devices' }).click()
  await press(page, `Allow it to approve: ${name}`)
  await hears(page, 'The device can approve now.')

  await press(page, `Remove ${name}`)
  await page.getByRole('dialog').getByText('Grants it approved stay active').waitFor()
  await page.keyboard.press('Escape')
  await press(page, `Remove ${name}`)
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).dblclick()
  await hears(page, 'The device was removed.')
  await page.getByText('No devices yet').waitFor()
  await shows(page, 'Devices')
  await assert.rejects(device.me(), { code: 'unauthenticated' })
})

/** Real notifications, which a page can't list, noted as they are made. */
const noting = `
  window.rung = []
  window.Notification = class extends Notification {
    constructor(title, options) {
      super(title, options)
      rung.push(this)
    }
  }`
/** A browser without a screen takes every page for visible. */
const hiding = `
  Object.defineProperty(document, 'visibilityState', { value: 'hidden' })
  document.dispatchEvent(new Event('visibilitychange'))`
const rung = (page: Page) => page.evaluate<string[]>('rung.map(({ tag }) => tag)')
/** Asked from here: the page's policy allows no script that waits inside it. */
const untilIn = (page: Page, condition: string) => eventually(() => page.evaluate<boolean>(condition), condition)
const isTitled = (page: Page, title: string) => untilIn(page, `document.title === '${title} · Sallyport'`)

inBrowser('a hidden console counts what waits and notifies once for each, in one of its tabs', [], async (visit) => {
  const person = await arrive(visit, 'hedy')
  const [agent, other] = [await register('Mail helper'), await register('Other helper')]
  const wish = { user_id: person.userId }
  const page = await person.open('/devices', 'Devices')
  const context = page.context()
  await context.addInitScript(noting)
  await page.reload()
  await press(page, 'Turn on notifications')
  await hears(page, 'Your browser blocks notifications of this page.')
  await context.grantPermissions(['notifications'], { origin: base })
  await press(page, 'Turn on notifications')
  await hears(page, 'Notifications are on.')
  await page.getByRole('button', { name: 'Turn off notifications' }).waitFor()
  await assertAccessible(page)

  await agent.ask(wish)
  await isTitled(page, '(1) Devices')
  await page.evaluate(hiding)
  const later = await context.newPage()
  await later.goto(`${base}/grants`)
  await isTitled(later, '(1) Grants')
  await later.evaluate(hiding)
  const second = await agent.ask(wish)
  await untilIn(page, 'rung.length > 0')
  await Promise.all([isTitled(page, '(2) Devices'), isTitled(later, '(2) Grants')])
  assert.deepEqual([await rung(page), await rung(later)], [[second], []])
  const said = await page.evaluate('rung[0].body')
  assert.equal(said, '“Mail helper” (not verified) asks for access to “Beta”.')

  // A denial mutes the agent.
  await person.call('POST', `/v4/access-requests/${second}/deny`, {})
  await isTitled(page, '(1) Devices')
  await agent.ask(wish)
  await isTitled(page, '(2) Devices')
  const third = await other.ask(wish)
  await untilIn(page, 'rung.length > 1')
  assert.deepEqual(await rung(page), [second, third])

  // The other tab takes over.
  await page.close()
  const fourth = await other.ask(wish)
  await untilIn(later, 'rung.length > 0')
  assert.deepEqual(await rung(later), [fourth])
  await later.evaluate(`rung[0].dispatchEvent(new Event('click'))`)
  await later.waitForURL(`**/approve-proxy/${fourth}`)
  await sees(later, 'An agent is requesting access')
})

inBrowser('e-mail is turned on and off in the account', [], async (visit) => {
  const person = await arrive(visit, 'alan')
  const page = await person.open('/account', 'Account')
  await page.getByText('It would go to alan@example.com.').waitFor()
  await press(page, 'Turn on e-mail')
  await hears(page, 'E-mail is on.')
  await page.getByText('It goes to alan@example.com.').waitFor()
  await assertAccessible(page)
  await assertFits(page)
  assert.equal((await person.call('GET', '/v4/mail')).body.on, true)
  await press(page, 'Turn off e-mail')
  await hears(page, 'You get no more e-mail.')
  assert.equal((await person.call('GET', '/v4/mail')).body.on, false)
})
