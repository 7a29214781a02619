/** The page that agents send people to, where they decide. */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { newDeviceKey } from '../server/testkit/device.ts'
import { oauthPaths } from '../server/testkit/oauth-server.ts'
import { adjust, arrive, ask, asking, asPerson, complains, granted, oauth, open } from './asking.ts'
import { base, hears, inBrowser, issueLink, notSignedIn, post, press, sees, signIn } from './in-browser.ts'
import { eventually } from './running-service.ts'

inBrowser('a visitor signs in and returns to the request', [notSignedIn], async (visit) => {
  const { login_url } = await issueLink('ida@example.com')
  const asked = await ask({ user_id: 'ida@example.com' })
  const page = await visit(asked.url)
  await sees(page, 'Sign in to decide')
  assert.doesNotMatch((await page.locator('main').textContent()) ?? '', /Mail helper|Acme/)
  await page.getByRole('link', { name: 'Sign in' }).click()
  await page.getByText('After you sign in, you’ll see the agent’s request.').waitFor()
  await page.getByLabel('Sign-in link or login token').fill(login_url)
  await press(page, 'Continue')
  await press(page, 'Sign in')
  await sees(page, asking)
  assert.equal(page.url(), `${base}/approve-proxy/${asked.id}`)
  await page.getByText('You’re signed in as ida').waitFor()
})

inBrowser('a user who signs in elsewhere finds the request on return', [notSignedIn], async (visit) => {
  const asked = await ask()
  const page = await visit(asked.url)
  await sees(page, 'Sign in to decide')
  const other = await page.context().newPage()
  await other.goto((await issueLink('joan@example.com')).login_url)
  await press(other, 'Sign in')
  await sees(other, 'Home')
  await page.evaluate(`dispatchEvent(new Event('focus'))`)
  await sees(page, asking)
})

inBrowser('the sign-in page continues only to access requests', [], async (visit) => {
  const page = await signIn(visit, 'rosa@example.com')
  for (const elsewhere of ['//elsewhere.example', 'arq_1/../../docs', '/docs', `arq_${'0'.repeat(26)}?x`]) {
    await page.goto(`${base}/?decide=${encodeURIComponent(elsewhere)}`)
    await sees(page, 'Home')
  }
})

inBrowser('an account connected on the way is preselected on return', [], async (visit) => {
  const page = await arrive(visit, 'ada@example.com', ['grace'])
  const asked = await ask({ reason: 'To sort your mail' })
  await open(page, asked)
  await adjust(page)
  await page.getByRole('radio', { name: '1 hour' }).check()
  await press(page, 'Connect another account')
  await page.getByLabel('Name').fill('ada')
  await press(page, 'Sign in')
  await press(page, 'Allow')
  await sees(page, asking)
  await hears(page, 'The account is connected.')
  assert.equal(page.url(), `${base}/approve-proxy/${asked.id}`)
  assert.ok(await page.getByRole('radio', { name: 'ada@example.com' }).isChecked())
  // What was chosen before is still chosen.
  assert.ok(await page.getByRole('radio', { name: '1 hour' }).isChecked())
  await press(page, 'Approve')
  await sees(page, 'Access granted')
})

inBrowser('exactly what was chosen is granted', [], async (visit) => {
  const page = await arrive(visit, 'grace@example.com', ['grace', 'hopper'])
  const asked = await ask({
    hosts: ['api.acme.example', '*.acme.example'],
    methods: ['GET', 'POST', 'DELETE'],
    paths: ['/v1/mail'],
    max_calls: 100,
  })
  await open(page, asked)
  await press(page, 'Approve')
  await complains(page, 'Choose an account for the agent to use.')
  await page.getByRole('radio', { name: 'hopper@example.com' }).check()
  const question = page.locator('[data-part=question]')
  const start = 'Mail helper wants to read, change, and delete data in your Acme account hopper@example.com.'
  assert.equal(await question.textContent(), start)
  await page.getByText('On api.acme.example and *.acme.example, under /v1/mail, up to 100 calls.').waitFor()
  await adjust(page)
  await page.getByRole('checkbox', { name: '*.acme.example' }).uncheck()
  await page.getByRole('radio', { name: 'Read only' }).check()
  await page.getByRole('radio', { name: 'Everything asks' }).check()
  await page.getByRole('radio', { name: '1 hour' }).check()
  const calls = page.getByLabel('Call limit')
  await calls.fill('101')
  await press(page, 'Approve')
  await complains(page, 'The call limit must be a whole number from 1 to 100.')
  await calls.fill('5')
  const narrowed =
    'Mail helper wants to read data in your Acme account hopper@example.com. It can’t change or delete anything.'
  assert.equal(await question.textContent(), narrowed)
  await page.getByText('On api.acme.example, under /v1/mail, up to 5 calls.').waitFor()
  const chosen =
    'Mail helper may only read (GET, POST, and DELETE) on api.acme.example, under /v1/mail, using the account hopper@example.com'
  await press(page, 'Approve')
  await sees(page, 'Access granted')
  const told = await page.getByRole('region', { name: 'What you granted' }).textContent()
  assert.ok(told?.startsWith(`${chosen}, until `), told ?? '')
  assert.deepEqual(await granted(asked), {
    allowed_hosts: ['api.acme.example'],
    allowed_methods: ['GET', 'POST', 'DELETE'],
    allowed_paths: ['/v1/mail'],
    max_calls: 5,
    hours: 1,
    mode: 'ask_all',
    exceptions: [],
    max_access: 'read',
  })
  const { grants } = await (await asPerson(page))('GET', '/v4/grants')
  assert.equal(grants[0].account_label, 'hopper@example.com')
})

inBrowser("each term can be narrowed by the user's input", [], async (visit) => {
  const page = await arrive(visit, 'barbara@example.com')
  const asked = await ask({ paths: ['/v1/mail'] })
  await open(page, asked)
  await adjust(page)
  for (const host of await page.getByRole('checkbox', { name: /acme/ }).all()) await host.uncheck()
  await page.getByLabel('Or specific subdomains').fill('mail.elsewhere.example')
  await press(page, 'Approve')
  await complains(page, 'It did not ask for this host: mail.elsewhere.example')
  await page.getByLabel('Or specific subdomains').fill('mail.acme.example')
  await page.getByRole('radio', { name: 'Selected methods' }).check()
  await page.getByRole('checkbox', { name: 'HEAD' }).uncheck()
  await page.getByRole('checkbox', { name: 'POST' }).check()
  await page.getByRole('radio', { name: 'Only these' }).check()
  await page.getByLabel('Paths, one per line').fill('/v1/contacts')
  await press(page, 'Approve')
  await complains(page, 'It did not ask for this path: /v1/contacts')
  await page.getByLabel('Paths, one per line').fill('/v1/mail/inbox\n/v1/mail/sent')
  await page.getByRole('radio', { name: 'Until a date' }).check()
  await press(page, 'Approve')
  await complains(page, 'Choose an expiry date and time.')
  await page.locator('input[name=date]:focus').fill('2001-01-01T00:00')
  await press(page, 'Approve')
  await complains(page, 'That date has passed.')
  const inTenDays = new Date(Date.now() + 10 * 86_400_000).toISOString().slice(0, 13)
  await page.getByLabel('Expires').fill(`${inTenDays}:00`)
  await press(page, 'Add an exception')
  // Its field is found also while “Adjust” is closed.
  await adjust(page)
  await press(page, 'Approve')
  await complains(page, 'Enter a path, or remove this exception')
  const exception = page.getByRole('group', { name: 'Exception 1' })
  await exception.getByLabel('What happens').selectOption('Never allow')
  await exception.getByLabel('Paths').fill('/v1/mail/sent')
  await exception.getByLabel('Methods').fill('post')
  await page.getByText('Never allowed: POST under /v1/mail/sent.').waitFor()
  await press(page, 'Add an exception')
  await press(page, 'Remove exception 2')
  await page.getByRole('radio', { name: 'Everything runs' }).check()
  await press(page, 'Approve')
  await sees(page, 'Access granted')
  const { hours, ...terms } = (await granted(asked)) as { hours: number }
  assert.ok(hours > 24 * 9 && hours < 24 * 11)
  assert.deepEqual(terms, {
    allowed_hosts: ['mail.acme.example'],
    allowed_methods: ['GET', 'POST'],
    allowed_paths: ['/v1/mail/inbox', '/v1/mail/sent'],
    max_calls: null,
    mode: 'allow_all',
    exceptions: [{ paths: ['/v1/mail/sent'], methods: ['POST'], action: 'deny' }],
    max_access: null,
  })
})

inBrowser('an account can be connected with a code on the page', [], async (visit) => {
  const page = await arrive(visit, 'edsger@example.com', [])
  const lift = oauth.fault.change(oauthPaths.deviceAuthorization, (answer) => ({ ...answer, interval: 1 }))
  await open(page, await ask())
  await press(page, 'Use a code on another device')
  await sees(page, 'Enter this code')
  lift()
  await oauth.approveDevice(await page.locator('bdi[translate=no]').innerText(), { account: 'edsger' })
  await sees(page, asking)
  await hears(page, 'The account is connected.')
  await page.locator('[data-part=question]').filter({ hasText: 'edsger@example.com' }).waitFor()
  await press(page, 'Approve')
  await sees(page, 'Access granted')
})

inBrowser('the defaults are no wildcard, one day, and a question before each change', [], async (visit) => {
  const page = await arrive(visit, 'alan@example.com')
  const asked = await ask()
  await open(page, asked)
  await page.getByText('No reason given.').waitFor()
  assert.ok(await page.getByRole('radio', { name: 'Reads run, changes ask' }).isChecked())
  await adjust(page)
  for (const host of await page.getByRole('checkbox', { name: /acme/ }).all()) await host.uncheck()
  await press(page, 'Approve')
  await complains(page, 'Choose at least one host.')
  for (const host of ['api', 'files']) await page.getByRole('checkbox', { name: `${host}.acme.example` }).check()
  await press(page, 'Approve')
  await sees(page, 'Access granted')
  const allowed_hosts = ['api.acme.example', 'files.acme.example']
  const any = { allowed_methods: null, allowed_paths: null, max_calls: null, exceptions: [], max_access: null }
  assert.deepEqual(await granted(asked), { allowed_hosts, ...any, hours: 24, mode: 'ask_writes' })

  const wider = await ask()
  await open(page, wider)
  await adjust(page)
  await page.getByRole('checkbox', { name: '*.acme.example' }).check()
  await page.getByRole('radio', { name: 'Everything runs' }).check()
  await page.getByText('It can change and delete anything that the account can, without asking you.').waitFor()
  await page.getByRole('radio', { name: 'Until I revoke it' }).check()
  await press(page, 'Approve')
  await sees(page, 'Access granted')
  const widest = { allowed_hosts: [...allowed_hosts, '*.acme.example'], ...any, hours: null, mode: 'allow_all' }
  assert.deepEqual(await granted(wider), widest)
})

inBrowser('a denial needs no account, and can mute the agent', [], async (visit) => {
  const page = await arrive(visit, 'mary@example.com', [])
  const asked = await ask()
  await open(page, asked)
  await page.getByText('You haven’t connected an account yet.').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0)
  await page.getByText('Before you deny').click()
  await page.getByLabel('Reason').fill('Not today')
  await page.getByLabel('don’t notify me about this agent again').check()
  await press(page, 'Deny')
  await sees(page, 'Denied')
  await page.getByText('You won’t be notified about this agent again.').waitFor()
  const answer = await asked.call('GET', `/v4/access-requests/${asked.id}`)
  assert.deepEqual([answer.status, answer.denial_reason], ['denied', 'Not today'])
  const call = await asPerson(page)
  const isBlocked = async () =>
    (await call('GET', '/v4/muted-agents')).muted_agents.map(({ blocked }: { blocked: boolean }) => blocked)
  assert.deepEqual(await isBlocked(), [true])
  const wanted = 'Mail helper wanted to read, change, and delete anything in your Acme account.'
  await page.getByText(wanted).waitFor()
  await page.reload()
  await sees(page, 'Already denied')
  await page.getByText(wanted).waitFor()
  // The denial stands, and the agent may ask again.
  await press(page, 'Let it ask again')
  await hears(page, 'You’ll be notified when this agent asks again.')
  assert.deepEqual(await isBlocked(), [])
  assert.equal((await asked.call('GET', `/v4/access-requests/${asked.id}`)).status, 'denied')
  await open(page, await ask())
  await press(page, 'Deny')
  await press(page, 'Block this agent')
  await hears(page, 'You won’t hear of this agent again.')
  assert.deepEqual(await isBlocked(), [true])
})

const unheard = 'Failed to load resource: net::ERR_FAILED'

/** Another tab, which gets no live updates. */
async function deafTab(page: Page): Promise<Page> {
  const tab = await page.context().newPage()
  await tab.route('**/v4/events', (route) => route.abort())
  return tab
}

inBrowser('a request that is no longer pending shows its outcome', ['409 ', unheard], async (visit) => {
  const page = await arrive(visit, 'emmy@example.com')
  const call = await asPerson(page)
  const taken = await ask()
  await taken.call('POST', `/v4/access-requests/${taken.id}/cancel`)
  await page.goto(taken.url)
  await sees(page, 'Cancelled by the agent')

  const asked = await ask()
  const { connections } = await call('GET', '/v4/connections')
  const decision = { connection_id: connections[0].connection_id }
  const elsewhere = await deafTab(page)
  await open(page, asked)
  await open(elsewhere, asked)
  await call('POST', `/v4/access-requests/${asked.id}/approve`, decision)
  // With live updates it changes by itself; without, it reports the problem on submit.
  await sees(page, 'Already approved')
  await press(elsewhere, 'Deny')
  await sees(elsewhere, 'Already approved')
  await hears(elsewhere, 'This request has already been decided')
  await elsewhere.getByRole('link', { name: 'View grants' }).click()
  await sees(elsewhere, 'Grants')

  const other = await signIn(visit, 'lise@example.com')
  await other.goto(asked.url)
  await sees(other, 'Already approved')
  await other.getByText('Another user approved this request').waitFor()
  assert.doesNotMatch((await other.locator('main').textContent()) ?? '', /grt_/)
})

const notForThem = '404 /v4/access-requests/'

inBrowser("another user's request shows only who is signed in", [notForThem, notSignedIn], async (visit) => {
  await issueLink('vera@example.com')
  const page = await signIn(visit, 'hedy@example.com')
  const asked = await ask({ user_id: 'vera@example.com' })
  for (const url of [asked.url, `${base}/approve-proxy/arq_${'0'.repeat(26)}`, `${base}/approve-proxy/pending`]) {
    await page.goto(url)
    await sees(page, 'Request not found')
    await page.getByText('You’re signed in as hedy').waitFor()
    assert.doesNotMatch((await page.locator('main').textContent()) ?? '', /Mail helper|Acme/)
  }
  await page.goto(asked.url)
  await press(page, 'Sign in as another user')
  await sees(page, 'Sign in to decide')
  assert.deepEqual(await page.context().cookies(), [])
})

inBrowser('an unverified provider is marked, also before going there', [], async (visit) => {
  const page = await arrive(visit, 'carol@example.com', [])
  const agent = await ask()
  const { slug } = await agent.call('POST', '/v4/providers/proposals', {
    provider_name: 'Open house',
    issuer_url: oauth.issuer,
  })
  const asked = await agent.call('POST', '/v4/access-requests', { provider: slug })
  await page.goto(asked.approval_url)
  await sees(page, asking)
  await page.getByText('This provider is unverified').waitFor()
  await press(page, 'Connect an account')
  await sees(page, 'Do you trust this provider?')
  await press(page, 'Back')
  await sees(page, asking)
  await press(page, 'Connect an account')
  await press(page, 'Continue')
  await page.getByLabel('Name').waitFor()
  assert.equal(new URL(page.url()).host, oauth.host)
})

inBrowser('an account that the provider no longer accepts can be connected again', ['409 ', unheard], async (visit) => {
  const lift = oauth.fault.change(oauthPaths.token, (answer) => ({ ...answer, expires_in: 1 }))
  const page = await deafTab(await arrive(visit, 'linus@example.com', ['linus']))
  lift()
  const asked = await ask()
  await open(page, asked)
  const call = await asPerson(page)
  const { connection_id: id } = (await call('GET', '/v4/connections')).connections[0]
  await oauth.endGrants('linus')
  const isOver = async () => {
    // It answers with an error from then on.
    await call('POST', `/v4/connections/${id}/check`).catch(() => undefined)
    return (await call('GET', '/v4/connections')).connections[0].status === 'needs_reauth'
  }
  await eventually(isOver, 'the connection still works')
  await press(page, 'Approve')
  await hears(page, 'The provider no longer accepts this account.')
  await press(page, 'Connect again')
  await page.getByLabel('Name').fill('linus')
  await press(page, 'Sign in')
  await press(page, 'Allow')
  await hears(page, 'The account is connected.')
  await press(page, 'Approve')
  await sees(page, 'Access granted')
})

inBrowser('with device-only approval the page can only deny', ['403 ', unheard], async (visit) => {
  const told = await arrive(visit, 'donald@example.com')
  const page = await deafTab(told)
  const call = await asPerson(page)
  const asked = await ask()
  await open(page, asked)
  await open(told, asked)
  const { pairing_code } = await call('POST', '/v4/devices/pairing-codes')
  const { publicKey } = newDeviceKey()
  assert.ok((await post('/v4/devices/pair', { pairing_code, public_key_jwk: publicKey })).ok)
  await call('PATCH', '/v4/auth/me', { require_device_approval: true })
  await press(page, 'Approve')
  await hears(page, 'You approve on your devices only: approve it there.')
  for (const one of [page, told]) {
    await one.getByText('You approve on your devices only: open this request there.').waitFor()
    assert.equal(await one.getByRole('button', { name: 'Approve' }).count(), 0)
  }
  await press(page, 'Deny')
  await sees(page, 'Denied')
  await sees(told, 'Already denied')
})

inBrowser('it works with the keyboard only, and fits a phone', [], async (visit) => {
  const page = await arrive(visit, 'ken@example.com')
  const asked = await ask({ hosts: ['api.acme.example'], reason: 'x'.repeat(1000) }, 'n'.repeat(100))
  await open(page, asked)
  await assertFitsPhones(page)
  const focused = () => page.evaluate('document.activeElement.textContent')
  for (let step = 0; step < 20 && (await focused()) !== 'Approve'; step++) await page.keyboard.press('Tab')
  assert.equal(await focused(), 'Approve')
  await page.locator('button[aria-disabled=false]', { hasText: 'Approve' }).waitFor()
  await page.keyboard.press('Enter')
  await sees(page, 'Access granted')
  await assertFitsPhones(page)
  await page.reload()
  await sees(page, 'Already approved')
  await assertFitsPhones(page)
})

async function assertFitsPhones(page: Page): Promise<void> {
  for (const width of [320, 390]) {
    await page.setViewportSize({ width, height: 800 })
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width)
  }
}
