/** The whole flow of a new user: a browser, an agent with the SDK, and a provider. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { AccessDenied, AccessExpired, SallyportError, createAgentClient, registerAgent } from '@sallyport/sdk'
import type { AgentClient } from '@sallyport/sdk'
import type { Page } from 'playwright-core'
import { adjust, asking } from './asking.ts'
import { arrive, consent, oauth, providerIsThere, slug } from './console-people.ts'
import { base, databaseFile, hears, inBrowser, press, sees, startScreen } from './in-browser.ts'

async function newAgent(name: string): Promise<AgentClient> {
  const { access_token: token } = await registerAgent({ baseUrl: base, name })
  return createAgentClient({ baseUrl: base, token })
}

const goTo = async (page: Page, name: string) => {
  await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name }).click()
  await sees(page, name)
}

const whoami = `https://${oauth.host}/api/whoami`

/** The error that the agent gets. */
async function refusal(call: Promise<unknown>): Promise<string> {
  const problem = await call.then(
    () => assert.fail('the call was answered'),
    (error: unknown) => error,
  )
  assert.ok(problem instanceof SallyportError)
  return problem.code
}

inBrowser('from the start screen to a revoked grant', [], async (visit) => {
  await providerIsThere()
  const page = await visit(/\S+#login_token=\S+/.exec(startScreen())?.[0] ?? '')
  await press(page, 'Sign in')
  await sees(page, 'Home')

  await page.getByRole('link', { name: 'Connect an account' }).click()
  await sees(page, 'Connect an account')
  await press(page, 'Connect Beta')
  await consent(page, 'ada', 'Allow')
  await sees(page, 'Connections')
  await hears(page, 'The account is connected.')
  // From here on nothing is reloaded: all changes are live updates.
  await page.evaluate('window.isTheSame = true')

  await goTo(page, 'Home')
  const agent = await newAgent('Mail helper')
  const userId = await page.evaluate<string>(`fetch('/v4/auth/me').then((r) => r.json()).then((me) => me.user.user_id)`)
  const { access_request_id: id } = await agent.requestAccess({
    provider: slug,
    user_id: userId,
    reason: 'To sort what came in overnight',
    hosts: [oauth.host, 'api.beta.example'],
    methods: ['GET', 'POST'],
  })
  await page.getByRole('link', { name: 'Decide on Mail helper' }).click()
  await sees(page, asking)
  await page.getByText('To sort what came in overnight').waitFor()
  await adjust(page)
  await page.getByRole('checkbox', { name: 'api.beta.example' }).uncheck()
  await page.getByRole('radio', { name: 'Read only' }).check()
  await page.getByRole('radio', { name: '1 hour' }).check()
  await page.getByLabel('Call limit').fill('3')
  await press(page, 'Approve')
  await sees(page, 'Access granted')

  const { grant_id: grantId } = await agent.waitForGrant(id)
  const { allowed_hosts, mode, max_access, max_calls } = (await agent.grants().page()).grants[0] ?? assert.fail()
  assert.deepEqual([allowed_hosts, mode, max_access, max_calls], [[oauth.host], 'ask_writes', 'read', 3])

  await page.getByRole('link', { name: 'View grants' }).click()
  await sees(page, 'Grants')
  await goTo(page, 'Activity')
  const line = (text: string) => page.getByRole('main').getByRole('link', { name: text })
  const answer = await agent.proxy({ grant_id: grantId, url: whoami, method: 'GET' })
  assert.equal(answer.status, 200)
  const read = `Mail helper read ${oauth.host}/api/whoami, answered 200.`
  await line(read).waitFor()
  const narrowed = agent.proxy({ grant_id: grantId, url: whoami, method: 'POST' })
  assert.equal(await refusal(narrowed), 'access_not_allowed')
  await line('refused: the grant doesn’t allow calls that do this.').waitFor()

  await line(read).click()
  await sees(page, 'Call details')
  await page.getByText(read).waitFor()
  await page.getByRole('link', { name: /^Mail helper, / }).waitFor()
  assert.match(await page.getByRole('main').innerText(), /Outcome\s+Answered/)

  await goTo(page, 'Grants')
  await press(page, 'Revoke the access of Mail helper')
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await hears(page, 'Access revoked.')
  await page.locator('h1:focus').waitFor()
  await goTo(page, 'Activity')
  assert.equal(await refusal(agent.proxy({ grant_id: grantId, url: whoami, method: 'GET' })), 'grant_revoked')
  await line(`Mail helper tried to read ${oauth.host}/api/whoami, refused: the grant was revoked.`).waitFor()
  assert.equal(await page.evaluate('window.isTheSame'), true)
})

inBrowser("a denial, an expired request and another user's request", ['404 /v4/access-requests/'], async (visit) => {
  const person = await arrive(visit, 'grace')
  const agent = await newAgent('Pushy agent')
  const ask = () => agent.requestAccess({ provider: slug, user_id: person.userId })
  const page = await person.open('/', 'Home')

  const denied = await ask()
  await page.goto(denied.approval_url)
  await sees(page, asking)
  await page
    .locator('summary')
    .filter({ hasText: /Adjust|Before you deny/ })
    .click()
  await page.getByLabel('Reason').fill('Not today')
  await press(page, 'Deny')
  await sees(page, 'Denied')
  await assert.rejects(agent.waitForGrant(denied.access_request_id), (problem: unknown) => {
    return problem instanceof AccessDenied && problem.request.denial_reason === 'Not today'
  })

  const other = await newAgent('Another agent')
  const late = await other.requestAccess({ provider: slug, user_id: person.userId })
  const database = new DatabaseSync(databaseFile())
  const change = database.prepare('update access_requests set expires_at = ? where access_request_id = ?')
  assert.equal(change.run(Date.now() - 1000, late.access_request_id).changes, 1)
  database.close()
  await page.goto(late.approval_url)
  await sees(page, 'This request has expired')
  assert.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0)
  await assert.rejects(other.waitForGrant(late.access_request_id), AccessExpired)

  const foreign = await other.requestAccess({ provider: slug, user_id: person.userId })
  const stranger = await arrive(visit, 'mallory')
  const theirs = await stranger.open('/', 'Home')
  await theirs.goto(foreign.approval_url)
  await sees(theirs, 'Request not found')
  assert.doesNotMatch(await theirs.getByRole('main').innerText(), /Another agent|Beta|grace/)
  const decision = { connection_id: await stranger.connect('mallory') }
  for (const verb of ['approve', 'deny']) {
    const { status } = await stranger.call('POST', `/v4/access-requests/${foreign.access_request_id}/${verb}`, decision)
    assert.equal(status, 404, verb)
  }
  assert.equal((await other.accessRequest(foreign.access_request_id)).status, 'pending')
})
