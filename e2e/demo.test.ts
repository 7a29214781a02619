/** The demo as a new user sees it: started, used in a real browser, stopped, and started with wrong settings. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { readDemoSettings } from '../demo/settings.ts'
import { quoted } from '../demo/terminal.ts'
import { launchBrowser } from '../server/testkit/browser.ts'
import { assertAccessible } from './accessible.ts'
import { codeBlocks } from './code-blocks.ts'
import { commandLineIn } from './command-line.ts'
import { adminToken, caller, demoSettings, runAgent, runProgram, startDemo } from './running-demo.ts'
import type { Demo } from './running-demo.ts'
import { eventually } from './running-service.ts'

const answers = async (url: string) =>
  fetch(url).then(
    () => true,
    () => false,
  )

describe('a running demo', () => {
  const endings: (() => unknown)[] = []
  const scope = { after: (ending: () => unknown) => endings.push(ending) } as Parameters<typeof startDemo>[0]
  let demo: Demo
  let browser: Browser
  let context: BrowserContext
  const complaints: string[] = []

  before(async () => {
    demo = await startDemo(scope, await demoSettings(scope))
    browser = await launchBrowser()
    // Like a user's browser: an untrusted certificate would stop the flow.
    context = await browser.newContext({ ignoreHTTPSErrors: false })
    context.setDefaultTimeout(60_000)
    context.on('console', (line) => {
      if (['error', 'warning'].includes(line.type())) complaints.push(line.text())
    })
  })
  after(async () => {
    await browser.close()
    for (const ending of endings.reverse()) await ending()
  })

  const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true }).click()
  const sees = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor()
  const signedIn = async () => {
    const asAdmin = caller(demo, adminToken(demo))
    const { users } = await asAdmin('GET', '/v4/users')
    const { login_token } = await asAdmin('POST', '/v4/auth/login-tokens', { user_id: users[0].user_id })
    const { session_token } = await caller(demo, '')('POST', '/v4/auth/login', { login_token })
    return caller(demo, session_token)
  }

  test("the whole flow: sign in, connect at Acorn, approve, and see the agent's calls", async (t) => {
    const agent = runAgent(t, demo.env)
    const [approvalUrl] = await agent.says(/http:\S+\/approve-proxy\/\S+/)
    const page = await context.newPage()
    await page.goto(demo.link)
    await press(page, 'Sign in')
    await sees(page, 'Home')
    await page.getByText('Inbox assistant').first().waitFor()

    await page.goto(approvalUrl)
    await press(page, 'Connect an account')
    await sees(page, 'Choose an account')
    await assertAccessible(page)
    const known = (await context.cookies(demo.mail)).map(({ name }) => name)
    assert.ok(!known.includes('svc_session'), 'Acorn is another site than the service')
    await press(page, /^Ada Lovelace/)
    await sees(page, 'Let Sallyport use your mail?')
    await assertAccessible(page)
    await press(page, 'Sign in as Grace Hopper instead')
    await page.getByText('grace@acorn.example').waitFor()
    await press(page, 'Allow')
    await page.getByText('grace@acorn.example').first().waitFor()
    await press(page, 'Approve')
    await sees(page, 'Access granted')

    // The choice that is marked as recommended: reads run, changes ask.
    const [callUrl] = await agent.says(/http:\S+\/approve-call\/\S+/)
    await page.goto(callUrl)
    await page.getByText('I reply to').first().waitFor()
    await page.locator('button[aria-disabled=false]', { hasText: 'Approve' }).waitFor()
    await assertAccessible(page)
    await press(page, 'Approve')

    assert.equal(await agent.ended(), 0)
    const told = agent.stdout()
    assert.match(told, /A loop within a loop/)
    assert.match(told, /authorization: Bearer \[REDACTED\]/)
    assert.match(told, /hello \{"authorization":"Bearer \[REDACTED\]"\}/)
    assert.match(told, /DELETE \S+\n +✘ refused: method_not_allowed/)
    assert.match(told, /POST https:\/\/collect\.example\/\n +✘ refused: host_not_allowed/)
    assert.ok(!/sp_[a-z]+_[0-9A-Za-z]{20}/.test(told), told)

    await page.goto(`${demo.base}/activity`)
    await page.getByRole('listitem').filter({ hasText: 'Inbox assistant' }).first().waitFor()
    await page.goto(`${demo.mail}/`)
    await page.getByText('Thursday it is.').waitFor()
    await assertAccessible(page)
    assert.deepEqual(
      complaints.filter((line) => !/401/.test(line)),
      [],
    )
  })

  test("the agent's files are private and in the demo's folder", () => {
    const modeOf = (name: string) => (statSync(join(demo.folder, name)).mode & 0o777).toString(8)
    assert.deepEqual(['.', 'agent.json', 'run.json', 'service'].map(modeOf), ['700', '600', '600', '700'])
    assert.deepEqual(readdirSync(join(demo.folder, '..')), ['demo'])
  })

  test('a second run reuses the grant; once revoked, the agent asks again and accepts a denial', async (t) => {
    const user = await signedIn()
    const again = runAgent(t, demo.env)
    const [, callId = ''] = await again.says(/\/approve-call\/(\w+)/)
    await user('POST', `/v4/calls/${callId}/deny`, {})
    assert.equal(await again.ended(), 0, again.stderr())
    assert.match(again.stdout(), /refused: call_denied/)
    assert.match(again.stdout(), /still valid/)
    const { grants } = await user('GET', '/v4/grants')
    await user('POST', `/v4/grants/${grants[0].grant_id}/revoke`, {})

    const refused = runAgent(t, demo.env)
    const [, id = ''] = await refused.says(/\/approve-proxy\/(\w+)/)
    assert.match(refused.stdout(), /no longer valid: grant_revoked/)
    await user('POST', `/v4/access-requests/${id}/deny`, { reason: 'not today' })
    assert.equal(await refused.ended(), 0, refused.stderr())
    assert.match(refused.stdout(), /The access request was denied: not today/)
  })

  test('with a narrower approval the other calls are refused', async (t) => {
    const user = await signedIn()
    const { connections } = await user('GET', '/v4/connections')
    const agent = runAgent(t, demo.env)
    const [, id = ''] = await agent.says(/\/approve-proxy\/(\w+)/)
    const body = { connection_id: connections[0].connection_id, allowed_methods: ['GET'], max_calls: 50 }
    await user('POST', `/v4/access-requests/${id}/approve`, body)
    assert.equal(await agent.ended(), 0, agent.stderr())
    assert.match(agent.stdout(), /access granted: GET, 50 calls, until you revoke it/)
    assert.match(agent.stdout(), /Replies .*\n +✘ refused: method_not_allowed/)
  })

  test('a tool reads the mail with the commands of the README', async (t) => {
    const user = await signedIn()
    const { connections } = await user('GET', '/v4/connections')
    const cli = commandLineIn(mkdtempSync(join(tmpdir(), 'sallyport-demo-home-')), { SALLYPORT_URL: demo.base })
    t.after(cli.stop)
    const block = codeBlocks().find(({ file, code }) => file === 'README.md' && code.includes('--request acorn'))
    const [register, run] = (block?.code ?? '').trim().split('\n')
    const words = (line = '') => [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '')
    const { acorn } = JSON.parse(readFileSync(join(demo.folder, 'run.json'), 'utf8'))
    assert.match(demo.stdout(), new RegExp(`Acorn API +${acorn.origin}/mail/v1/\n`))
    assert.equal((await cli.run(words(register).slice(2))).code, 0)
    const running = cli.start(words(run?.replace('https://localhost:8790', acorn.origin)).slice(2))
    const [, id = ''] = /approve-proxy\/(\w+)/.exec(await running.until(/approve-proxy\/\w+/)) ?? []
    await user('POST', `/v4/access-requests/${id}/approve`, { connection_id: connections[0].connection_id })
    const { code, stdout, stderr } = await running.ended
    assert.equal(code, 0, stderr)
    assert.ok(JSON.parse(stdout).messages.length > 0)
  })

  test('an account can be connected with a code, on a page without a certificate', async () => {
    const user = await signedIn()
    const flow = await user('POST', '/v4/oauth/device/start', { provider_slug: 'acorn' })
    const page = await context.newPage()
    await page.goto(flow.verification_uri)
    await sees(page, 'Connect a device')
    await assertAccessible(page)
    await page.getByRole('textbox', { name: 'Code' }).fill('WRONG')
    await press(page, 'Continue')
    await sees(page, 'That code does not work')
    await page.getByRole('textbox', { name: 'Code' }).fill(flow.user_code)
    await press(page, 'Continue')
    await page.getByText(flow.user_code).waitFor()
    await assertAccessible(page)
    await press(page, 'Yes, continue')
    await press(page, 'Sign in as Ada Lovelace instead')
    await page.getByText('ada@acorn.example').waitFor()
    await press(page, 'Allow')
    await sees(page, 'Connected')
    await assertAccessible(page)
    let status = ''
    await eventually(async () => {
      const polled = await user('POST', '/v4/oauth/device/poll', { device_flow_id: flow.device_flow_id })
      status = polled.status
      return !['pending', 'slow_down'].includes(status)
    }, 'the device flow came to no end')
    assert.equal(status, 'connected')
    const { connections } = await user('GET', '/v4/connections')
    assert.ok(connections.some((one: any) => one.account_label === 'ada@acorn.example'))
  })

  test('over http Acorn serves only pages under its own host, and its API needs a token', async () => {
    for (const path of [
      '/token',
      '/device/auth',
      '/jwks',
      '/me',
      '/mail/v1/messages',
      '/.well-known/openid-configuration',
    ]) {
      for (const method of ['GET', 'POST']) assert.equal((await fetch(demo.mail + path, { method })).status, 404, path)
    }
    assert.equal((await fetch(demo.mail.replace('127.0.0.1', 'localhost'))).status, 421)
    const ended = await fetch(`${demo.mail}/interaction/made-up`)
    assert.equal(ended.status, 400)
    assert.match(await ended.text(), /This sign-in has expired/)
  })

  test('a second one in the same folder is refused and does not affect the first', async (t) => {
    const second = runProgram(t, ['demo/start.ts', '--demo'], { ...demo.env, PORT: '1' })
    assert.equal(await second.ended(), 1)
    assert.equal(second.stderr(), `Demo: a demo is already running at ${demo.base}. Stop it with Ctrl-C first.\n`)
    assert.ok(await answers(`${demo.base}/readyz`))
  })

  test('Ctrl-C stops everything, and the next start begins from scratch', async (t) => {
    demo.signal('SIGINT')
    assert.equal(await demo.ended(), 0, demo.stderr())
    assert.equal(demo.stderr(), '')
    assert.deepEqual(await Promise.all([demo.base, demo.mail].map(answers)), [false, false])
    const without = runProgram(t, ['scripts/demo-agent.mjs'], demo.env)
    assert.equal(await without.ended(), 1)
    assert.equal(without.stderr(), 'No demo is running here. Start it in another terminal: npm start -- --demo\n')

    const next = await startDemo(t, demo.env)
    assert.ok(!existsSync(join(next.folder, 'agent.json')))
    // However the demo ends, the service must not keep running.
    next.signal('SIGKILL')
    await next.ended()
    await eventually(async () => !(await answers(`${next.base}/readyz`)), 'the service outlived the demo')
  })
})

describe('an invalid start of the demo', () => {
  test('is refused with one line naming the setting', () => {
    const table: [Record<string, string>, RegExp][] = [
      [{ DATABASE_URL: 'postgres://localhost/x' }, /^DATABASE_URL is set/],
      [{ DATABASE_URL_FILE: '/run/secrets/url' }, /^DATABASE_URL_FILE is set/],
      [{ SALLYPORT_BASE_URL: 'https://a.example' }, /^SALLYPORT_BASE_URL is set/],
      [{ SALLYPORT_TLS_CERT_FILE: 'a.pem' }, /^SALLYPORT_TLS_CERT_FILE is set/],
      [{ HOST: '0.0.0.0' }, /^HOST is 0\.0\.0\.0, but the demo runs on this machine only/],
      [{ PORT: '80a' }, /^PORT is 80a; it must be a number/],
      [{ PORT: '65536' }, /^PORT is 65536; it must be a number/],
    ]
    for (const [env, message] of table) assert.throws(() => readDemoSettings(['--demo'], env), { message })
    assert.throws(() => readDemoSettings(['--demo', 'doctor'], {}), {
      message: '--demo takes no other arguments; remove: doctor',
    })
  })

  test('settings irrelevant to a demo are not passed to its service', () => {
    const given = {
      HOST: '127.0.0.1',
      DATABASE_URL: '',
      SALLYPORT_MASTER_KEY: 'of a real one',
      SALLYPORT_EGRESS_ALLOW: '10.0.0.0/8',
      SALLYPORT_LOG_LEVEL: 'info',
      TZ: 'UTC',
    }
    const { env, ignored, port } = readDemoSettings(['--demo'], given)
    assert.deepEqual(env, { SALLYPORT_LOG_LEVEL: 'info', TZ: 'UTC' })
    assert.deepEqual(ignored, ['SALLYPORT_MASTER_KEY', 'SALLYPORT_EGRESS_ALLOW'])
    assert.equal(port, undefined)
  })

  test('npm start passes it on and prints nothing else', async (t) => {
    const program = runProgram(t, ['scripts/start.mjs', '--demo'], { HOST: '0.0.0.0' })
    assert.equal(await program.ended(), 1)
    assert.match(program.stderr(), /^Demo: HOST is .*\n$/)
    assert.equal(program.stdout(), '')
  })

  test('a port in use is named, and a foreign folder is not touched', async (t) => {
    const settings = await demoSettings(t)
    const taken = createServer().listen(Number(settings['PORT']), '127.0.0.1')
    t.after(() => taken.close())
    await once(taken, 'listening')
    const program = runProgram(t, ['demo/start.ts', '--demo'], settings)
    assert.equal(await program.ended(), 1)
    assert.match(program.stderr(), /^Demo: port \d+ is in use\. .*\n$/)

    const folder = join(settings['SALLYPORT_DATA_DIR'] ?? '', 'demo')
    mkdirSync(folder)
    writeFileSync(join(folder, 'thesis.txt'), 'years of work')
    const other = runProgram(t, ['demo/start.ts', '--demo'], { ...settings, PORT: '' })
    assert.equal(await other.ended(), 1)
    assert.match(other.stderr(), /^Demo: .* was not created by a demo and would be deleted\. .*\n$/)
    assert.equal(readFileSync(join(folder, 'thesis.txt'), 'utf8'), 'years of work')
  })
})

test('text from others is printed as one plain line', () => {
  assert.equal(quoted('a\u001b[2Jb\r\nc\u202ed'), 'a [2Jb c d')
  assert.equal(quoted('x'.repeat(200)).length, 100)
  assert.equal(quoted({ a: 1 }), '{"a":1}')
})
