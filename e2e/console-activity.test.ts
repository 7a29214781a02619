/** The activity page: search, chart, details, export, and live updates. How pages load is tested here too. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Page, Route } from 'playwright-core'
import { assertAccessible } from './accessible.ts'
import { arrive, assertFits, oauth, register } from './console-people.ts'
import type { Agent, Person } from './console-people.ts'
import { eventually } from './running-service.ts'
import { base, inBrowser, sees } from './in-browser.ts'
import type { Visit } from './in-browser.ts'

/** More than one page of the list. */
const manyCalls = 52

interface Lived {
  person: Person
  helper: Agent
  grant: string
}

let lived: Promise<Lived> | undefined

/** One user for all tests: two agents, many calls, one that did not reach the upstream, one refused. */
async function live(visit: Visit): Promise<Lived> {
  const person = await arrive(visit, 'ada')
  const terms = { connection_id: await person.connect('ada'), allowed_methods: ['GET'], allowed_hosts: [oauth.host] }
  const [helper, writer] = [await register('Mail helper'), await register('Report writer')]
  const grant = await person.approve(await helper.ask(), terms)
  const other = await person.approve(await writer.ask(), terms)
  for (let round = 0; round < manyCalls / 4; round++) {
    await Promise.all(Array.from({ length: 4 }, () => helper.read(grant)))
  }
  await helper.read(grant, '/api/nothing')
  await helper.call('POST', '/v4/proxy', { grant_id: grant, method: 'DELETE', url: `https://${oauth.host}/api/x` })
  await writer.read(other)
  return { person, helper, grant }
}

/** Repeats in a row are one line. */
const repeats = (page: Page, times: number) =>
  page
    .getByRole('main')
    .getByRole('button', { name: new RegExp(`^Mail helper read .* ${times} times, last at [\\d:]+`) })
const lines = (page: Page) => page.getByRole('main').getByRole('listitem').getByRole('link')
const show = (page: Page, text: string) => lines(page).filter({ hasText: text })

/** Waits until the list has exactly these lines. */
async function holds(page: Page, expected: RegExp[]): Promise<void> {
  const isThere = async () => {
    const texts = await lines(page).allInnerTexts()
    return texts.length === expected.length && expected.every((line, index) => line.test(texts[index] ?? ''))
  }
  await eventually(isThere, `the list does not hold ${expected.join(' and ')} alone`)
}

const refused = /^Mail helper tried to delete .*\/api\/x, refused: this method isn’t allowed by the grant\./
const notFound = /^Mail helper tried to read .*\/api\/nothing, answered 404\./
const written = /^Report writer read .*\/api\/whoami, answered 200\./

inBrowser('records can be filtered by URL and by the controls, with the keyboard', [], async (visit) => {
  const { person } = await (lived ??= live(visit))
  const page = await person.open('/activity?outcome=refused&kind=nonsense&span=%3Cb%3E', 'Activity', visit)
  await holds(page, [refused])
  assert.equal(await page.getByLabel('Outcome').inputValue(), 'refused')
  assert.equal(await page.getByLabel('Type').inputValue(), '')
  await assertAccessible(page)

  await page.getByRole('button', { name: 'Clear filters' }).click()
  await page.locator('h1:focus').waitFor()
  assert.equal(page.url(), `${base}/activity`)
  await repeats(page, 47).waitFor()

  await page.getByLabel('Type').selectOption('Approvals')
  await holds(page, [/^You granted access to Report writer\./, /^You granted access to Mail helper\./])
  assert.equal(page.url(), `${base}/activity?kind=access_request.approved`)
  await page.getByLabel('Type').selectOption('All types')
  await page.getByLabel('Agent').selectOption('Report writer')
  await page.getByLabel('Type').selectOption('Calls')
  await holds(page, [written])

  await page.getByLabel('Agent').selectOption('All agents')
  const search = page.getByRole('searchbox')
  await search.fill('get /api/nothing')
  await holds(page, [notFound])
  await page.locator(':focus').and(search).waitFor()
  assert.equal(new URL(page.url()).searchParams.get('q'), 'get /api/nothing')
  await page.reload()
  await sees(page, 'Activity')
  await holds(page, [notFound])
  assert.equal(await search.inputValue(), 'get /api/nothing')
  await page.getByRole('img', { name: 'Calls over time: 1 call, ' }).waitFor()
  await eventually(async () => (await figure(page, 'Answered with an error')) === 1, 'the chart ignores the search')
  await search.fill('nothing at all')
  await search.press('Enter')
  await page.getByText('No activity').waitFor()
  await assertAccessible(page)
})

const figure = async (page: Page, outcome: string) => {
  const texts = await page.getByRole('region', { name: 'Calls over time' }).getByRole('listitem').allInnerTexts()
  const text = texts.find((one) => one.startsWith(outcome)) ?? assert.fail(texts.join())
  return Number(text.replace(/\D/g, ''))
}

inBrowser('the chart has figures; a record opens, and Back returns to the list', [], async (visit) => {
  const { person, grant } = await (lived ??= live(visit))
  const page = await person.open(`/activity?grant_id=${grant}`, 'Activity', visit)
  await page.getByRole('img', { name: `Calls over time: ${manyCalls + 2} calls, ` }).waitFor()
  // The last outcome is recorded a moment after the call.
  await eventually(async () => (await figure(page, 'Answered with an error')) === 1, 'not all answers are counted')
  assert.deepEqual(await Promise.all(['Succeeded', 'Refused', 'Failed'].map((one) => figure(page, one))), [
    manyCalls,
    1,
    0,
  ])
  await page.getByText('One grant of Mail helper at Beta').waitFor()
  await page.getByRole('radio', { name: '7 days' }).focus()
  await page.keyboard.press('ArrowLeft')
  await page.getByRole('radio', { name: '24 hours', checked: true }).waitFor()
  assert.equal(page.url(), `${base}/activity?span=day&grant_id=${grant}`)

  await show(page, 'answered 404').click()
  await sees(page, 'Call details')
  const facts = await page.getByRole('main').innerText()
  for (const fact of [
    /Outcome\s+Answered, with an error of the host/,
    /Duration\s+[\d.]+ (?:milli)?seconds?/,
    /Account\s+ada@example\.com at Beta/,
    /Grant\s+Mail helper, Beta/,
    /Answer status\s+404/,
    /Path\s+\/api\/nothing/,
    /Method\s+GET/,
  ]) {
    assert.match(facts, fact)
  }
  assert.doesNotMatch(facts, /\b[a-z]+_[a-z0-9]+/, 'members and ids are only in the record as it is stored')
  assert.doesNotMatch(facts, /bearer|authorization/i)
  await assertAccessible(page)
  await assertFits(page)
  await page.goBack()
  await sees(page, 'Activity')
  assert.equal(page.url(), `${base}/activity?span=day&grant_id=${grant}`)
  await page.goto(`${base}/activity?span=all`)
  await sees(page, 'Activity')
  await lines(page).first().waitFor()
  await assertFits(page)
  await assertAccessible(page)
})

async function download(page: Page, name: string): Promise<{ name: string; text: string }> {
  const waiting = page.waitForEvent('download')
  await page.getByRole('link', { name }).click()
  const file = await waiting
  return { name: file.suggestedFilename(), text: readFileSync(await file.path(), 'utf8') }
}

inBrowser('the list loads more, and exports have all of it', [], async (visit) => {
  const { person, grant } = await (lived ??= live(visit))
  const page = await person.open(`/activity?grant_id=${grant}`, 'Activity', visit)
  await repeats(page, 48).waitFor()
  const { body } = await person.call('GET', `/v4/audit?grant_id=${grant}&limit=200`)
  const all: number = body.records.length
  assert.ok(all > manyCalls)
  await page.getByRole('button', { name: 'Show more' }).click()
  await page.getByRole('button', { name: 'Show more' }).waitFor({ state: 'detached' })
  await repeats(page, manyCalls).click()
  assert.equal(await lines(page).count(), all)

  const ndjson = await download(page, 'Export NDJSON')
  const ids = ndjson.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).audit_id)
  assert.deepEqual(
    ids,
    body.records.map((record: { audit_id: string }) => record.audit_id),
  )
  assert.match(ndjson.name, /\.ndjson$/)
  const csv = await download(page, 'Export CSV')
  assert.match(csv.text, /^audit_id,event,at,/)
  assert.equal(csv.text.match(/^aud_/gm)?.length, all)
  assert.match(csv.name, /\.csv$/)
  await page.getByLabel('Outcome').selectOption('Refused')
  await holds(page, [refused])
  assert.equal((await download(page, 'Export CSV')).text.match(/^aud_/gm)?.length, 1)

  await page.getByLabel('Outcome').selectOption('Any outcome')
  await repeats(page, manyCalls).waitFor()
})

inBrowser('new calls appear at the top, and are only announced while the user reads', [], async (visit) => {
  const { person, helper, grant } = await (lived ??= live(visit))
  const page = await person.open(`/activity?grant_id=${grant}`, 'Activity', visit)
  await page.getByRole('button', { name: 'Show more' }).click()
  await repeats(page, manyCalls).click()
  const first = lines(page).first()
  const before = { lines: await lines(page).count(), succeeded: await figure(page, 'Succeeded') }
  await page.mouse.move(0, 0)
  await page.evaluate('document.activeElement.blur(), scrollTo(0, 0)')
  assert.equal((await helper.read(grant, '/api/whoami?live')).upstream, 200)
  await first.filter({ hasText: '/api/whoami, answered 200' }).waitFor()
  assert.equal(await lines(page).count(), before.lines + 1)
  await eventually(async () => (await figure(page, 'Succeeded')) === before.succeeded + 1, 'the answer is not counted')

  await lines(page).last().scrollIntoViewIfNeeded()
  const placeOf = async () => (await lines(page).last().boundingBox())?.y
  const [place, text] = [await placeOf(), await first.innerText()]
  for (let again = 0; again < 2; again++) await helper.read(grant)
  const fresh = page.getByRole('button', { name: '2 new calls' })
  await fresh.waitFor()
  assert.deepEqual([await placeOf(), await first.innerText()], [place, text])

  // To one of the calls and back: the same place, and the new ones still wait.
  await lines(page).last().click()
  await sees(page, 'Activity details')
  await page.goBack()
  await sees(page, 'Activity')
  assert.deepEqual([await placeOf(), await first.innerText()], [place, text])
  await fresh.click()
  await page.locator('h1:focus').waitFor()
  await repeats(page, 3).waitFor()
  assert.equal(await page.evaluate('scrollY'), 0)
  await fresh.waitFor({ state: 'detached' })
})

/** Opens a page whose answers arrive one by one, the last asked first. Returns what it asked, and how much moved. */
async function openSlowly(page: Page, path: string): Promise<{ asked: string[]; moved: number }> {
  const asked: string[] = []
  const held: Route[] = []
  await page.route('**/v4/**', async (route) => {
    const { pathname, searchParams } = new URL(route.request().url())
    for (const name of ['since', 'until']) searchParams.delete(name)
    asked.push(`${pathname}?${searchParams.toString()}`)
    if (/\/(?:events|me)$/.test(pathname)) await route.continue()
    else held.push(route)
  })
  const loading = page.locator('[role=progressbar][aria-label=Loading]')
  const connected = page.waitForResponse('**/v4/events')
  await page.goto(base + path)
  await connected
  await loading.first().waitFor()
  await eventually(async () => {
    await held.pop()?.continue()
    return held.length === 0 && (await loading.count()) === 0
  }, 'it does not load')
  await page.unrouteAll()
  return { asked, moved: await page.evaluate('window.moved') }
}

const countMoves = `window.moved = 0
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) moved += value
  }).observe({ type: 'layout-shift', buffered: true })`

inBrowser('pages ask for each list once, and nothing moves while the answers arrive', [], async (visit) => {
  const { person } = await (lived ??= live(visit))
  const page = await person.open('/account', 'Account', visit)
  await page.addInitScript(countMoves)
  for (const size of [
    { width: 1280, height: 860 },
    { width: 390, height: 844 },
  ]) {
    await page.setViewportSize(size)
    for (const path of ['/', '/activity', '/grants', '/connections', '/devices']) {
      const { asked, moved } = await openSlowly(page, path)
      assert.deepEqual([...new Set(asked)], asked, path)
      assert.ok(moved < 0.02, `${path} at ${size.width}: ${moved}`)
    }
  }
})

inBrowser("other users' records are not shown, and no text breaks the page", ['404 /v4/audit/'], async (visit) => {
  const victim = await (lived ??= live(visit))
  const person = await arrive(visit, 'mallory')
  const odd = `\u05d0\u05d1 <img src=x onerror="document.title='gone'"> ${'W'.repeat(50)}`
  const strange = await register(odd)
  const terms = { connection_id: await person.connect('mallory') }
  const grant = await person.approve(await strange.ask(), terms)
  await strange.read(grant, `/api/%3Cscript%3E/${'w'.repeat(1500)}?q=<b>`)
  const page = await person.open('/activity', 'Activity')
  await show(page, 'answered 404').waitFor()
  assert.doesNotMatch(await page.getByRole('main').innerText(), /Mail helper|Report writer|ada@example/)
  await assertFits(page)
  await assertAccessible(page)
  await show(page, 'answered 404').click()
  await sees(page, 'Call details')
  await page.locator('summary').click()
  await page.getByRole('group', { name: 'The record as JSON' }).waitFor()
  await assertFits(page)
  await assertAccessible(page)
  assert.equal(await page.locator('main img, main script, main b').count(), 0)
  assert.equal(await page.title(), 'Call details · Sallyport')

  const { body } = await victim.person.call('GET', '/v4/audit?limit=1')
  await page.goto(`${base}/activity/${body.records[0].audit_id}`)
  await page.getByRole('button', { name: 'Try again' }).waitFor()
  assert.doesNotMatch(await page.getByRole('main').innerText(), /Mail helper|Report writer|ada@example/)
  await page.goto(`${base}/activity?grant_id=${victim.grant}&agent_id=${'x'.repeat(3000)}`)
  await sees(page, 'Activity')
  await page.getByRole('button', { name: 'Clear filters' }).waitFor()
  await assertFits(page)
})
