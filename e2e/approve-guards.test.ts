/** What an agent, a link or a hasty click can't do to the page where a person decides. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { assertAccessible } from './accessible.ts'
import { adjust, arrive, ask, asking, asPerson, complains, granted, open } from './asking.ts'
import { base, databaseFile, inBrowser, notSignedIn, post, press, sees, shows } from './in-browser.ts'

/** In both schemes, and no wider than the narrowest phone. */
async function assertFine(page: Page, state: string): Promise<void> {
  await page.locator('main:not(:has([aria-disabled=true]))').waitFor()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
    await assertAccessible(page, `${state}, ${colorScheme}`)
  }
  const size = page.viewportSize()
  await page.setViewportSize({ width: 320, height: 700 })
  assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320, state)
  if (size) await page.setViewportSize(size)
}

/** Whether a click in the middle of a button would reach it. */
async function isUncovered(page: Page, name: string): Promise<boolean> {
  const button = page.getByRole('button', { name, exact: true })
  await button.scrollIntoViewIfNeeded()
  const box = await button.boundingBox()
  if (!box) return false
  const at = `${box.x + box.width / 2}, ${box.y + box.height / 2}`
  return (await page.evaluate(`document.elementFromPoint(${at}).closest('button').textContent`)) === name
}

test('a name or reason that reorders text or floods the page is refused', async () => {
  const register = async (name: string) => (await post('/v4/agents/register', { name })).status
  const { call } = await ask()
  const reasonIs = (reason: string) =>
    call('POST', '/v4/access-requests', { provider: 'acme', reason }).then(
      () => 201,
      () => 400,
    )
  const marks = ['\u202e', '\u202d', '\u2066', '\u2067', '\u200f', '\u061c', '\u0000', '\u2028']
  for (const mark of marks) {
    assert.equal(await register(`Mail ${mark}repleh`), 400)
    assert.equal(await reasonIs(`To ${mark}help`), 400)
  }
  assert.deepEqual([await register('n'.repeat(201)), await register('\n'), await register(' ')], [400, 400, 400])
  assert.deepEqual([await reasonIs('x'.repeat(10_000)), await reasonIs('x'.repeat(1001))], [400, 400])
  assert.equal(await reasonIs('x'.repeat(1000)), 201)
})

const tower = 'Z' + '\u0301'.repeat(60)
const hostile = [
  // The first letter is Cyrillic.
  { name: 'Аcme', reason: 'Approve' },
  {
    name: 'Mail helper may only read (GET) on api.acme.example. Verified by Sallyport',
    reason: 'Approve\n'.repeat(120),
  },
  { name: `${tower} <button>Approve</button>`, reason: `<button>Approve</button>\n${tower.repeat(10)}` },
  { name: 'עזרה (abc) 123', reason: 'שלום 123 (abc\n\n\t"><script>alert(1)</script>' },
  { name: 'n'.repeat(200), reason: 'w'.repeat(1000) },
]

const last = hostile.at(-1)

/** As long as the service allows. */
const flood = {
  hosts: Array.from({ length: 50 }, (_, index) => `${'h'.repeat(60)}${index}.acme.example`),
  paths: Array.from({ length: 50 }, (_, index) => `/${'p'.repeat(1000)}${index}`),
}

inBrowser('agent text is shown as text, apart from ours', [], async (visit) => {
  const page = await arrive(visit, 'maria@example.com')
  const reason = '<img src=x onerror=alert(1)>\n\n<h1>Approved</h1> שלום 123 (abc'
  const name = '<b>Bank</b> עזרה'
  await open(page, await ask({ reason }, name))
  const quote = page.locator('blockquote')
  assert.equal(await quote.textContent(), reason)
  assert.equal(await page.locator('main img, main b, main h1').count(), 1)
  const style = await page.evaluate(`(({ whiteSpaceCollapse, unicodeBidi }) => [whiteSpaceCollapse, unicodeBidi])(
    getComputedStyle(document.querySelector('blockquote')))`)
  assert.deepEqual(style, ['preserve', 'isolate'])
  // Each occurrence is isolated, whatever its text direction.
  const around = await page.getByText(name, { exact: true }).evaluateAll((all) => all.map(({ tagName }) => tagName))
  assert.deepEqual(around, ['BDI', 'BDI'])
  assert.doesNotMatch(await page.title(), /Bank/)
})

inBrowser('agent text that imitates ours stays in its place', [], async (visit) => {
  const page = await arrive(visit, 'ada@example.com')
  for (const { name, reason } of hostile) {
    const wish = name === last?.name ? flood : { hosts: ['api.acme.example'] }
    await open(page, await ask({ reason, ...wish }, name))
    const shown = (text: string) => text.replace(/(\u0301{4})\u0301+/g, '$1')
    assert.equal(await page.locator('blockquote').textContent(), shown(reason))
    const names = page.locator('bdi').filter({ hasText: shown(name).slice(0, 40) })
    assert.equal(await names.count(), 2, name)
    // Its background colour, which ours never has, shows where it ends.
    const grounds = await page.evaluate<string[]>(
      `[...document.querySelectorAll('[data-part=question] bdi')].map((one) => getComputedStyle(one).backgroundColor)`,
    )
    assert.ok(grounds.length > 2 && !grounds.includes('rgba(0, 0, 0, 0)'), name)
    assert.equal(await page.getByRole('button', { name: 'Approve' }).count(), 1)
    assert.equal(await page.getByText('Unverified', { exact: true }).count(), 1)
    assert.equal(await page.title(), `${asking} · Sallyport`)
    const height = (await page.locator('blockquote').boundingBox())?.height ?? 1000
    assert.ok(height < 250, `${name}: ${height}`)
    assert.ok((await isUncovered(page, 'Approve')) && (await isUncovered(page, 'Deny')), name)
    if (name === last?.name || name.startsWith(tower)) await assertFine(page, name)
  }
})

async function details(page: Page): Promise<void> {
  await page.locator('summary').filter({ hasText: 'Details' }).click()
}

inBrowser("an agent's claims are marked as unverified, and its history is shown", [], async (visit) => {
  const page = await arrive(visit, 'grace@example.com')
  const claims = async (owner: string) => {
    const agent = await post('/v4/agents/register', { name: 'Mine', owner_user_id: owner })
    const { access_token: token } = (await agent.json()) as { access_token: string }
    const reply = await post('/v4/access-requests', { provider: 'acme' }, { authorization: `Bearer ${token}` })
    return (await reply.json()) as { approval_url: string }
  }
  await page.goto((await claims('grace@example.com')).approval_url)
  await details(page)
  await page.getByText('It claims to belong to you. Any agent can claim this.').waitFor()
  await page.goto((await claims('<b>The bank</b>')).approval_url)
  await details(page)
  await page.getByText('<b>The bank</b>').waitFor()

  const first = await ask()
  await open(page, first)
  await page.getByText('New agent.').waitFor()
  await details(page)
  await page.getByText('You have never granted it access.').waitFor()
  await page.getByText('It didn’t name a user. You see this request because you opened its link.').waitFor()
  await press(page, 'Approve')
  await sees(page, 'Access granted')
  const again = await first.call('POST', '/v4/access-requests', { provider: 'acme', user_id: 'grace@example.com' })
  await page.goto(again.approval_url)
  await page.getByText('It has access already.').waitFor()
  await details(page)
  await page.getByText('You have granted it access once; that grant is still active. It has made no calls.').waitFor()
  assert.equal(await page.getByText('It didn’t name a user').count(), 0)
})

inBrowser('no URL decides, and a double click decides once', [], async (visit) => {
  const page = await arrive(visit, 'alan@example.com')
  const asked = await ask()
  const sent: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST') sent.push(new URL(request.url()).pathname)
  })
  for (const rest of ['?approve=1&decision=approve&confirm=true', '?deny=1&block=true', '#approve', '?error=x']) {
    await page.goto(asked.url + rest)
    await page.locator('main').waitFor()
  }
  await open(page, asked)
  assert.deepEqual(sent, [])
  await page.locator('button[aria-disabled=false]', { hasText: 'Approve' }).dblclick()
  await shows(page, 'Access granted')
  assert.deepEqual(sent, [`/v4/access-requests/${asked.id}/approve`])
  const { grants } = await (await asPerson(page))('GET', '/v4/grants')
  assert.equal(grants.length, 1)
})

inBrowser('no URL chooses the account, except the return from the provider', [], async (visit) => {
  const page = await arrive(visit, 'katherine@example.com', ['ada', 'grace'])
  const { connections } = await (await asPerson(page))('GET', '/v4/connections')
  const [id] = connections.map((one: { connection_id: string }) => one.connection_id)
  const database = new DatabaseSync(databaseFile())
  // Moves it an hour into the past.
  database.prepare('UPDATE audit_records SET at = ? WHERE connection_id = ?').run(Date.now() - 3_600_000, id)
  database.close()
  const asked = await ask()
  await page.goto(`${asked.url}?connection_id=${id}`)
  await sees(page, asking)
  assert.equal(await page.getByRole('radio', { name: '@example.com', checked: true }).count(), 0)
  await press(page, 'Approve')
  await page.getByText('Choose an account for the agent to use.').waitFor()
  assert.equal(await page.getByRole('status').textContent(), '')
})

inBrowser('another site cannot frame it', ['Framing', 'Refused to'], async (visit, complaints) => {
  const { url } = await ask()
  const site = createServer((request, response) => {
    response.setHeader('content-type', 'text/html')
    const framed = '<iframe name="theirs" src="/own"></iframe><iframe name="ours" src="' + url + '"></iframe>'
    response.end(request.url === '/own' ? 'can be framed' : framed)
  })
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  try {
    const page = await visit(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`)
    await page.frame('theirs')?.getByText('can be framed').waitFor()
    assert.equal(await page.frame('ours')?.locator('main').count(), 0)
    assert.ok(complaints.some((one) => one.includes('frame-ancestors')))
  } finally {
    site.close()
  }
})

inBrowser('a click that comes too early decides nothing', [], async (visit) => {
  const page = await arrive(visit, 'jean@example.com')
  const asked = await ask()
  const clickAll = `for (const button of document.querySelectorAll('form button')) {
    if (['Approve', 'Deny'].includes(button.textContent)) button.click()
  }`
  await page.addInitScript(
    `new MutationObserver(() => { ${clickAll} }).observe(document, { childList: true, subtree: true })`,
  )
  await page.clock.install()
  await open(page, asked)
  const isHeld = async () =>
    (await page.getByRole('button', { name: 'Approve' }).getAttribute('aria-disabled')) === 'true'
  // Only the test moves the clock.
  await page.clock.pauseAt(Date.now() + 60_000)
  for (const shown of [`dispatchEvent(new Event('focus'))`, `dispatchEvent(new Event('pageshow'))`, visibilityChange]) {
    await page.evaluate(`${shown}; ${clickAll}`)
    await page.clock.runFor(600)
    assert.ok(await isHeld(), shown)
    await page.evaluate(clickAll)
    await page.clock.runFor(200)
    assert.ok(!(await isHeld()), shown)
  }
  assert.equal((await asked.call('GET', `/v4/access-requests/${asked.id}`)).status, 'pending')
  await page.clock.resume()
  await press(page, 'Approve')
  await sees(page, 'Access granted')
})

const visibilityChange = `document.dispatchEvent(new Event('visibilitychange'))`

inBrowser('a request that expires says so without a reload', [], async (visit) => {
  const page = await arrive(visit, 'emmy@example.com')
  const asked = await ask()
  await page.clock.install()
  await open(page, asked)
  const database = new DatabaseSync(databaseFile())
  database
    .prepare('UPDATE access_requests SET expires_at = ? WHERE access_request_id = ?')
    .run(Date.now() - 1000, asked.id)
  database.close()
  await page.clock.fastForward('24:00:02')
  await sees(page, 'This request has expired')
  await page.getByText('No access was granted. You can open it again, or the agent can ask again.').waitFor()
  await assertFine(page, 'too late')
})

inBrowser('a plain request fits a phone, and a reload keeps what was chosen', [], async (visit) => {
  const page = await arrive(visit, 'tim@example.com', ['tim'])
  const wish = {
    hosts: ['api.acme.example'],
    methods: ['GET', 'POST'],
    paths: ['/v1/mail'],
    reason: 'To sort your mail',
  }
  const asked = await ask(wish)
  await page.setViewportSize({ width: 390, height: 844 })
  await open(page, asked)
  assert.equal(await page.evaluate('document.documentElement.scrollHeight'), 844)
  await page.getByText('Mail helper wants to read and change data in your Acme account tim@example.com.').waitFor()
  await page.getByRole('radio', { name: 'Everything asks' }).check()
  await page.getByRole('radio', { name: 'Until a date' }).check()
  await adjust(page)
  await page.getByLabel('Call limit').fill('none')
  await page.getByRole('radio', { name: 'Only these' }).check()
  await page.getByLabel('Paths, one per line').fill('/v1/mail/../keys')
  await press(page, 'Add an exception')
  await press(page, 'Approve')
  const mistakes = [
    'A path can’t contain “..”, spaces, “?”, “#” or other characters that URLs escape: /v1/mail/../keys',
    'Choose an expiry date and time.',
    'The call limit must be a whole number from 1 to 1,000,000,000.',
    'Enter a path, or remove this exception. A single slash is any path.',
  ]
  for (const mistake of mistakes) await complains(page, mistake)
  assert.equal(await page.getByRole('alert').count(), mistakes.length)
  await page.reload()
  await sees(page, asking)
  assert.equal(await page.getByRole('alert').count(), 0)
  assert.ok(await page.getByRole('radio', { name: 'Everything asks' }).isChecked())
  await page.getByRole('radio', { name: '1 hour' }).check()
  await adjust(page)
  assert.equal(await page.getByLabel('Call limit').inputValue(), 'none')
  await page.getByLabel('Call limit').fill('7')
  await page.getByRole('group', { name: 'Allowed paths' }).getByRole('textbox').fill('/v1/mail/inbox')
  await press(page, 'Remove exception 1')
  // Another user of the same tab finds nothing of it.
  const kept = await page.evaluate<string[]>('Object.keys(sessionStorage)')
  assert.ok(kept.length === 1 && /^choices usr_\w+ arq_\w+$/.test(kept[0] ?? ''), kept.join())
  await press(page, 'Approve')
  await sees(page, 'Access granted')
  assert.deepEqual(await granted(asked), {
    allowed_hosts: ['api.acme.example'],
    allowed_methods: ['GET', 'POST'],
    allowed_paths: ['/v1/mail/inbox'],
    max_calls: 7,
    hours: 1,
    mode: 'ask_all',
    exceptions: [],
    max_access: null,
  })
  assert.equal(await page.evaluate('sessionStorage.length'), 0)
  await press(page, 'Revoke the access of Mail helper')
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click()
  await page.getByText('This access has ended.').waitFor()
  await page.reload()
  await sees(page, 'Already approved')
  await page.getByRole('button', { name: 'Renew the access of Mail helper' }).waitFor()
})

const seen = [notSignedIn, '404 /v4/access-requests/']

inBrowser('every state is accessible: keyboard, screen reader, dark mode, phone', seen, async (visit) => {
  const asked = await ask({
    hosts: ['api.acme.example', '*.acme.example'],
    methods: ['GET', 'POST'],
    reason: 'Why not',
  })
  const stranger = await visit(asked.url)
  await sees(stranger, 'Sign in to decide')
  await assertFine(stranger, 'signed out')
  const newcomer = await arrive(visit, 'ida@example.com', [])
  await open(newcomer, asked)
  await newcomer.getByText('You haven’t connected an account yet.').waitFor()
  await assertFine(newcomer, 'no account')
  await newcomer.goto(`${base}/approve-proxy/arq_${'0'.repeat(26)}`)
  await sees(newcomer, 'Request not found')
  await assertFine(newcomer, 'not found')

  const page = await arrive(visit, 'ken@example.com')
  await open(page, await ask())
  const denied = page.locator('button[aria-disabled=false]', { hasText: 'Deny' })
  await denied.focus()
  await page.keyboard.press('Enter')
  await sees(page, 'Denied')
  await assertFine(page, 'denied')

  await open(page, asked)
  // With the keyboard only: the selected option of the last group, then the next ones.
  await page.getByRole('radio', { name: '1 day' }).focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  assert.ok(await page.getByRole('radio', { name: 'Until I revoke it' }).isChecked())
  await adjust(page)
  await press(page, 'Add an exception')
  await page.getByRole('group', { name: 'Exception 1' }).getByLabel('Paths').fill('/v1/keys')
  await page.getByRole('radio', { name: 'Selected methods' }).check()
  await page.getByRole('radio', { name: 'Only these' }).check()
  await page.getByRole('group', { name: 'Allowed paths' }).getByRole('textbox').fill('/v1')
  await page.getByLabel('Reason').waitFor()
  await page.getByText('Check before you approve').waitFor()
  await page.getByText('covers every subdomain').waitFor()
  await page.getByText('No expiry: it stays active until you revoke it.').waitFor()
  await page.locator('button[aria-disabled=false]', { hasText: 'Approve' }).waitFor()
  await assertFine(page, 'everything open')
})
