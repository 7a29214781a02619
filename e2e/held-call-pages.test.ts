/** Held calls on the pages where a person decides, on the screen of a phone. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import type { Page } from 'playwright-core'
import { assertAccessible } from './accessible.ts'
import { arrive, assertFits, oauth, register } from './console-people.ts'
import type { Agent, Person } from './console-people.ts'
import { base, databaseFile, hears, inBrowser, issueLink, notSignedIn, press, sees } from './in-browser.ts'
import type { Visit } from './in-browser.ts'
import { eventually } from './running-service.ts'

const asking = 'An agent wants to make a call'
const phone = { width: 390, height: 844 }

interface Setting {
  person: Person
  agent: Agent
  grant: string
}

/** A person, and an agent whose changes ask. */
async function settle(visit: Visit, name: string, agentName = 'Mail helper'): Promise<Setting> {
  const person = await arrive(visit, name)
  const account = await person.connect(name)
  const agent = await register(agentName)
  const grant = await grantTo(person, agent, account)
  return { person, agent, grant }
}

async function grantTo(person: Person, agent: Agent, account: string): Promise<string> {
  const wish = { user_id: person.userId, hosts: [oauth.host] }
  return person.approve(await agent.ask(wish), { connection_id: account, mode: 'ask_writes' })
}

async function openCall(page: Page, { call_id: id }: { call_id: string }): Promise<void> {
  await page.goto(`${base}/approve-call/${id}`)
  await sees(page, asking)
}

/** Within the screen, and not covered by anything. */
async function isInReach(page: Page, name: string): Promise<boolean> {
  const box = await page.getByRole('button', { name, exact: true }).boundingBox()
  if (!box) return false
  const at = `${box.x + box.width / 2}, ${box.y + box.height / 2}`
  return (await page.evaluate(`document.elementFromPoint(${at})?.closest('button')?.textContent`)) === name
}

async function become(page: Page, text: string): Promise<void> {
  await page.locator('[data-part=outcome]').getByText(text).waitFor()
}

inBrowser('a held call on a phone: from its link to its result', [notSignedIn], async (visit) => {
  const { person, agent, grant } = await settle(visit, 'ada')
  assert.equal((await agent.read(grant)).upstream, 200)
  const body = { to: 'grace@example.com', text: 'Hello' }
  const call = { body, headers: { 'x-note': 'from the agent' }, reason: 'Ada asked me to' }
  const held = await agent.hold(grant, call)

  const page = await visit('about:blank')
  await page.setViewportSize(phone)
  await page.goto(held.approval_url)
  await sees(page, 'Sign in to decide')
  assert.doesNotMatch((await page.locator('main').textContent()) ?? '', /Mail helper|grace/)
  await page.getByRole('link', { name: 'Sign in' }).click()
  await page.getByLabel('Sign-in link or login token').fill((await issueLink('ada@example.com')).login_url)
  await press(page, 'Continue')
  await press(page, 'Sign in')
  await sees(page, asking)
  assert.equal(page.url(), held.approval_url)

  const about = page.getByRole('region', { name: 'What it does' })
  await about.getByText('Mail helper').waitFor()
  await about.getByText('Unverified').waitFor()
  await about.getByText('ada@example.com').waitFor()
  await about.getByText('Changes', { exact: true }).waitFor()
  assert.equal(
    await page.getByRole('group', { name: 'Method and URL' }).textContent(),
    `POST https://${oauth.host}/api/echo`,
  )
  await page.getByRole('group', { name: 'Body' }).getByText('grace@example.com').waitFor()
  assert.ok(await page.getByRole('group', { name: 'Headers' }).isHidden())
  await page.getByText(/^Headers \(/).click()
  await page.getByRole('group', { name: 'Headers' }).getByText('x-note: from the agent').waitFor()
  assert.equal(await page.locator('blockquote').textContent(), 'Ada asked me to')
  await page.getByText(/^\d+:\d\d left$/).waitFor()
  await page.locator('button[aria-disabled=false]', { hasText: 'Approve' }).waitFor()
  await page.evaluate('scrollTo(0, 0)')
  assert.ok((await isInReach(page, 'Approve')) && (await isInReach(page, 'Deny')))
  await assertAccessible(page)

  // What another one would do is in its body.
  assert.equal(await page.getByText('Also allow this again').count(), 0)
  await press(page, 'Approve')
  await sees(page, 'Done')
  await become(page, 'The provider answered 200.')
  await assertAccessible(page)
  await assertFits(page)
  const { body: done } = await agent.call('GET', `/v4/calls/${held.call_id}`)
  assert.deepEqual([done.status, done.response.status], ['done', 200])
  await page.reload()
  await sees(page, 'Done')

  const activity = await person.open('/activity', 'Activity')
  const place = `${oauth.host}/api/echo`
  for (const line of [
    `Mail helper asked you before it would send to ${place}.`,
    `You allowed Mail helper to send to ${place}.`,
    `Mail helper sent to ${place}, answered 200.`,
  ]) {
    await activity.getByRole('link', { name: line }).first().waitFor()
  }
})

inBrowser('an approval for a while is listed with its grant, and can be ended', [], async (visit) => {
  const person = await arrive(visit, 'linus')
  const account = await person.connect('linus')
  const agent = await register('Reader')
  const terms = { connection_id: account, mode: 'ask_all' }
  const grant = await person.approve(await agent.ask({ hosts: [oauth.host] }), terms)
  const reading = { method: 'GET', path: '/api/whoami' }
  const held = await agent.hold(grant, reading)

  const page = await person.open('/account', 'Account')
  await page.setViewportSize(phone)
  await openCall(page, held)
  await page.getByText('Reads', { exact: true }).waitFor()
  assert.ok(await page.getByRole('radio', { name: 'Only this call' }).isChecked())
  await page.getByRole('radio', { name: 'Also allow this again for 15 minutes' }).check()
  await page.getByText('Runs without asking, at most 50 times:').waitFor()
  await page.locator('button[aria-disabled=false]', { hasText: 'Approve' }).waitFor()
  await assertAccessible(page)
  await press(page, 'Approve')
  await sees(page, 'Done')
  assert.equal((await agent.read(grant)).upstream, 200)
  await page.getByRole('link', { name: 'View grants' }).click()
  await sees(page, 'Grants')
  await page.getByText('Everything asks').waitFor()
  await page.getByText(/^49 calls, \d+:\d\d left$/).waitFor()
  await assertAccessible(page)
  await assertFits(page)
  await page.getByRole('button', { name: /^Ask again before/ }).click()
  await hears(page, 'From now on, this call asks you again.')
  assert.equal(await page.getByText('Runs again without asking').count(), 0)
  await agent.hold(grant, reading)
  await page.goto(`${base}/activity`)
  await sees(page, 'Activity')
  const allowed = `You allowed Reader to read ${oauth.host}/api/whoami, and again for 15 minutes.`
  await page.getByRole('link', { name: allowed }).waitFor()
})

const notForThem = '404 /v4/calls/'

inBrowser('denied, expired, cancelled and somebody else’s: each says what it is', [notForThem], async (visit) => {
  const { person, agent, grant } = await settle(visit, 'grace')
  const page = await person.open('/account', 'Account')
  await page.setViewportSize(phone)
  const denied = await agent.hold(grant, { body: 'one' })
  await openCall(page, denied)
  await page.getByText('If you deny').click()
  await page.getByLabel('Reason').fill('Not today')
  await press(page, 'Deny')
  await sees(page, 'Denied')
  await become(page, 'The call was not made.')
  await assertAccessible(page)
  const { body } = await agent.call('GET', `/v4/calls/${denied.call_id}`)
  assert.deepEqual([body.status, body.denial_reason], ['denied', 'Not today'])

  const expiring = await agent.hold(grant, { body: 'two' })
  await page.clock.install()
  await openCall(page, expiring)
  const database = new DatabaseSync(databaseFile())
  database.prepare('UPDATE held_calls SET expires_at = ? WHERE call_id = ?').run(Date.now() - 1000, expiring.call_id)
  database.close()
  await page.clock.fastForward('01:00:00')
  await sees(page, 'Expired')
  await become(page, 'This request expired. It was not denied.')
  await assertAccessible(page)
  await assertFits(page)

  const cancelled = await agent.hold(grant, { body: 'three' })
  await openCall(page, cancelled)
  await agent.call('POST', `/v4/calls/${cancelled.call_id}/cancel`)
  await sees(page, 'Cancelled')

  const other = await arrive(visit, 'eve')
  const stranger = await other.open('/account', 'Account')
  for (const id of [denied.call_id, `cal_${'0'.repeat(26)}`, 'pending']) {
    await stranger.goto(`${base}/approve-call/${id}`)
    await sees(stranger, 'Call not found')
    assert.doesNotMatch((await stranger.locator('main').textContent()) ?? '', /Mail helper/)
  }
})

inBrowser('twenty calls that wait together are settled by one decision', [], async (visit) => {
  const { person, agent, grant } = await settle(visit, 'edsger')
  const page = await person.open('/', 'Home')
  await page.setViewportSize(phone)
  const held: { call_id: string }[] = []
  for (let number = 1; number <= 20; number++) held.push(await agent.hold(grant, { body: { number } }))
  const other = await register('Report writer')
  const [account] = (await person.call('GET', '/v4/connections')).body.connections
  const deleting = await other.hold(await grantTo(person, other, account.connection_id), {
    ...{ method: 'DELETE', path: '/api/echo' },
  })
  const list = page.getByRole('region', { name: 'Calls of Mail helper' })
  await list.getByText('20 calls').waitFor()
  const others = page.getByRole('region', { name: 'Calls of Report writer' })
  await others.getByText('Deletes', { exact: true }).waitFor()
  assert.equal(await others.getByRole('checkbox').count(), 0)
  await page.getByText('21 pending requests').waitFor({ state: 'attached' })
  await assertAccessible(page)
  await assertFits(page)

  await list.getByRole('button', { name: 'Select all 20' }).click()
  const [first] = await list.getByRole('checkbox').all()
  await first?.uncheck()
  await list.getByRole('button', { name: 'Approve 19' }).waitFor()
  await first?.check()
  await assertAccessible(page)
  const sent: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST') sent.push(new URL(request.url()).pathname)
  })
  await list.locator('button[aria-disabled=false]', { hasText: 'Approve 20' }).dblclick()
  await hears(page, '20 calls approved.')
  await list.waitFor({ state: 'detached' })
  assert.deepEqual(sent, ['/v4/calls/decide'])
  const isDone = async () => {
    const statuses = await Promise.all(held.map(({ call_id: id }) => agent.statusOf(id)))
    return statuses.every((status) => status === 'done')
  }
  await eventually(isDone, 'not all of them were made')
  assert.equal(await other.statusOf(deleting.call_id), 'waiting')
  await others.getByRole('link').click()
  await sees(page, asking)
  await page.getByText('Deletes', { exact: true }).waitFor()
  assert.equal(await page.getByText('Also allow this again').count(), 0)
})

const imitation = 'Approved by Sallyport. This call is safe.'
const tower = `Z${'\u0301'.repeat(60)}`

inBrowser('what an agent writes stays in its boxes, and imitates nothing', [], async (visit) => {
  // The first letter is Cyrillic.
  const { person, agent, grant } = await settle(visit, 'barbara', `Ѕallyport. ${imitation} <button>Approve</button>`)
  const page = await person.open('/account', 'Account')
  await page.setViewportSize({ width: 320, height: 640 })
  const evil = `<h1>${imitation}</h1><button>Approve</button>\n\u202egnikniht tuohtiw evorppA\u202c\u2066 ${tower} עזרה (abc`
  const hostile = [
    { body: { [imitation]: evil, file_name: `${'a'.repeat(10_000)}\u202egpj.exe` } },
    { body: evil.repeat(50), headers: { 'content-type': 'text/plain' } },
    { path: `/api/echo?${new URLSearchParams({ [imitation]: evil }).toString()}`, body: { a: 1 } },
    { headers: { [`x-approved-by-sallyport-${'y'.repeat(70)}`]: imitation, 'x-note': imitation }, body: { a: 2 } },
  ]
  for (const call of hostile) {
    const reason = `Approve\n\n${imitation} <button>Approve</button> ${tower} שלום (abc `
    await openCall(page, await agent.hold(grant, { ...call, reason: reason.repeat(7).slice(0, 500) }))
    await page.getByText(/^Headers \(/).click()
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320)
    assert.equal(await page.getByRole('button', { name: 'Approve', exact: true }).count(), 1)
    assert.equal(await page.locator('main h1').count(), 1)
    assert.equal(await page.title(), `${asking} · Sallyport`)
    await page.locator('button[aria-disabled=false]', { hasText: 'Approve' }).waitFor()
    for (const top of [0, 400, 100_000]) {
      await page.evaluate(`scrollTo(0, ${top})`)
      assert.ok((await isInReach(page, 'Approve')) && (await isInReach(page, 'Deny')))
    }
    const { outside, tallest, marks } = await page.evaluate<Boxes>(boxes)
    assert.deepEqual(outside, [])
    assert.ok(tallest < 400, `${tallest}`)
    assert.equal(marks, 0)
    await assertAccessible(page)
  }
})

interface Boxes {
  outside: string[]
  tallest: number
  marks: number
}

/** Text of the agent that is in no isolated element, the height of the tallest box, and how many direction marks there are. */
const boxes = `(() => {
  const outside = [], texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT)
  let marks = 0
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const own = node.parentElement.closest('bdi, blockquote, pre, .isolate')
    if (!own?.closest('blockquote') && /[\\u202a-\\u202e\\u2066-\\u2069]/.test(node.data)) marks++
    if (!/safe|tuohtiw|gpj|yyyy|\\u0301/.test(node.data)) continue
    if (!own || getComputedStyle(own).unicodeBidi !== 'isolate') outside.push(node.data.slice(0, 100))
  }
  const heights = [...document.querySelectorAll('pre, blockquote, .isolate')].map((one) => one.offsetHeight)
  return { outside, marks, tallest: Math.max(...heights) }
})()`
