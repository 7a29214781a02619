/** The command line as a script runs it: exact lines, exact bytes, exit codes, and no token anywhere. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { sharedAgentSide } from './agent-side.ts'
import type { CommandLine } from './command-line.ts'

const homes: CommandLine[] = []

/** A home folder whose command output is searched for tokens at the end. */
function watched<T extends CommandLine>(cli: T): T {
  homes.push(cli)
  return cli
}

const shared = sharedAgentSide()
const agentPattern = /^agt_[0-9a-z]{26}\n$/
const grantPattern = /^grt_[0-9a-z]{26}\n$/

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8)
}

describe('register', () => {
  test("prints the agent's id, and stores its token readable by its owner only", async () => {
    const cli = watched(shared().home())
    const { code, stdout, stderr } = await cli.run(['register', 'Mail helper'])
    assert.equal(code, 0, stderr)
    assert.match(stdout, agentPattern)
    assert.equal(
      stderr,
      `✓ Registered "Mail helper" with ${shared().base}\n  Its token is saved in profile "default". Next: sallyport sandbox\n`,
    )
    const folder = join(cli.home, '.config/sallyport')
    assert.deepEqual(readdirSync(join(folder, 'profiles')), ['default.json'])
    assert.deepEqual([folder, join(folder, 'profiles'), join(folder, 'profiles/default.json')].map(modeOf), [
      '700',
      '700',
      '600',
    ])
    assert.equal(cli.secrets().length, 1)
  })

  test('shows the token only on request', async () => {
    const { home, service } = shared()
    const cli = home()
    const { stdout } = await cli.run(['register', 'Mail helper', '--show-token', '--json'])
    const { access_token, agent_id, ...others } = JSON.parse(stdout)
    assert.deepEqual(others, { name: 'Mail helper', url: shared().base, profile: 'default' })
    const me = await service.call('GET', '/v4/agents/me', { token: access_token })
    assert.deepEqual([me.body.agent_id, cli.secrets()], [agent_id, [access_token]])
  })

  test('does not replace an agent unless told to', async () => {
    const cli = watched(shared().home())
    const first = (await cli.run(['register', 'One'])).stdout
    const again = await cli.run(['register', 'Two'])
    assert.deepEqual(
      [again.code, again.stdout, again.stderr],
      [
        2,
        '',
        'sallyport: profile "default" already has an agent, "One"\nUse another profile (--profile NAME) or replace it (--replace).\n',
      ],
    )
    const replaced = await cli.run(['register', 'Two', '--replace'])
    assert.equal(replaced.code, 0, replaced.stderr)
    assert.notEqual(replaced.stdout, first)
  })

  test('creates no agent if its token could not be stored', async () => {
    const { home, service } = shared()
    const cli = home({ XDG_CONFIG_HOME: '/dev/null' })
    const before = (await service.call('GET', '/v4/agents', { token: service.adminToken })).body.agents.length
    const { code, stderr } = await cli.run(['register', 'Homeless'])
    assert.equal(code, 1)
    assert.match(stderr, /^sallyport: \/dev\/null\/sallyport\/profiles can't be written to \(ENOTDIR\)\n$/)
    const { agents } = (await service.call('GET', '/v4/agents', { token: service.adminToken })).body
    assert.equal(agents.length, before)
  })
})

describe('profiles', () => {
  test('several can exist; one is current, and an option or a variable selects another', async () => {
    const cli = watched(shared().home())
    const one = (await cli.run(['register', 'One'])).stdout.trim()
    const two = (await cli.run(['register', 'Two', '--profile', 'work'])).stdout.trim()
    const { base } = shared()
    const list = await cli.run(['profile', 'list'])
    assert.equal(list.stdout, `default\t${base}\t${one}\tno\nwork\t${base}\t${two}\tno\n`)
    await cli.run(['sandbox', '--profile', 'work'])
    const count = async (...words: string[]) =>
      JSON.parse((await cli.run(['grants', '--json', ...words])).stdout).grants.length
    assert.deepEqual([await count(), await count('--profile', 'work')], [0, 1])
    const named = await cli.run(['grants'], { env: { SALLYPORT_PROFILE: 'work' } })
    assert.equal(named.stdout.split('\n').length, 2)
    assert.equal((await cli.run(['profile', 'use', 'work'])).code, 0)
    assert.equal(await count(), 1)
    assert.equal((await cli.run(['profile', 'remove', 'work'])).code, 0)
    assert.equal(JSON.parse((await cli.run(['whoami', '--json'])).stdout).profile, 'default')
    assert.equal((await cli.run(['profile', 'list'])).stdout, `default\t${base}\t${one}\tno\n`)
  })

  test('a token is sent only to its own service, and never over http to another machine', async (t) => {
    const { registered } = shared()
    const cli = await registered()
    const heard: (string | undefined)[] = []
    const thief = createServer((request, response) => {
      heard.push(request.headers.authorization)
      response.end('{}')
    })
    t.after(() => thief.close())
    await once(thief.listen(0, '127.0.0.1'), 'listening')
    const elsewhere = `http://127.0.0.1:${(thief.address() as AddressInfo).port}`
    for (const env of [{ SALLYPORT_URL: elsewhere }, {}]) {
      const words = env.SALLYPORT_URL === undefined ? ['grants', '--url', elsewhere] : ['grants']
      const { code, stderr } = await cli.run(words, { env })
      assert.equal(code, 3)
      assert.match(stderr, /^sallyport: profile "default" is for http:.*; its tokens are not sent to http:/)
    }
    assert.deepEqual(heard, [])
    const plain = await cli.run(['grants', '--url', 'http://sallyport.example.com'])
    assert.deepEqual(
      [plain.code, plain.stderr],
      [2, 'sallyport: --url: plain http is allowed only for this machine; use https for sallyport.example.com\n'],
    )
  })

  test('a file that others can read is not used', async () => {
    const cli = await shared().registered()
    const file = join(cli.home, '.config/sallyport/profiles/default.json')
    chmodSync(file, 0o644)
    const { code, stderr } = await cli.run(['grants'])
    assert.deepEqual([code, stderr.split('\n')[0]], [3, `sallyport: other users can read ${file} (mode 644)`])
    chmodSync(file, 0o600)
    writeFileSync(file, '{"url"')
    const broken = await cli.run(['grants'])
    assert.deepEqual([broken.code, broken.stderr.split('\n')[0]], [3, `sallyport: ${file} is not a valid profile`])
  })

  test('a token from a file or the environment is used and never printed', async () => {
    const { home, service, agent } = shared()
    const cli = watched(home())
    const file = join(cli.home, 'token')
    writeFileSync(file, `${service.adminToken}\n`)
    assert.equal((await cli.run(['profile', 'set', '--admin-token-file', file])).code, 0)
    assert.equal((await cli.run(['profile', 'set', '--agent-token-file', '-'], { input: agent.token })).code, 0)
    const { stdout } = await cli.run(['whoami', '--json'])
    assert.deepEqual(JSON.parse(stdout), {
      profile: 'default',
      folder: join(cli.home, '.config/sallyport'),
      url: shared().base,
      url_from: 'SALLYPORT_URL',
      agent_token_from: 'profile default',
      admin_token_from: 'profile default',
      session_token_from: null,
    })
    assert.equal((await cli.run(['agents', '--limit', '1'])).code, 0)
    const fresh = home({ SALLYPORT_AGENT_TOKEN: agent.token })
    assert.equal((await fresh.run(['grants'])).code, 0)
    assert.ok(!fresh.printed().includes(agent.token))
  })

  test("an agent's profile never has the admin token; an older one is moved out", async () => {
    const { home, service, agent, base } = shared()
    const cli = watched(home())
    const folder = join(cli.home, '.config/sallyport')
    const inProfile = () => readFileSync(join(folder, 'profiles/default.json'), 'utf8').includes(service.adminToken)
    await cli.run(['profile', 'set', '--agent-token-file', '-'], { input: agent.token })
    await cli.run(['profile', 'set', '--admin-token-file', '-'], { input: service.adminToken })
    await cli.run(['register', 'Another', '--replace'])
    assert.deepEqual([inProfile(), modeOf(join(folder, 'admin/default.json'))], [false, '600'])
    assert.equal((await cli.run(['agents', '--limit', '1'])).code, 0)
    assert.equal((await cli.run(['profile', 'remove', 'default'])).code, 0)
    assert.deepEqual(readdirSync(join(folder, 'admin')), [])
    const old = { url: base, agent: { agent_id: agent.agentId, name: 'x', access_token: agent.token } }
    const text = JSON.stringify({ ...old, admin_token: service.adminToken })
    writeFileSync(join(folder, 'profiles/default.json'), text, { mode: 0o600 })
    const first = await cli.run(['grants'])
    assert.deepEqual([first.code, inProfile()], [0, false])
    const moved = 'sallyport: profile "default", which agents can read, contained the admin token. It is now in '
    assert.ok(first.stderr.startsWith(`${moved}${join(folder, 'admin/default.json')}. If an agent may`), first.stderr)
    assert.equal((await cli.run(['grants'])).stderr, '')
    assert.equal((await cli.run(['agents', '--limit', '1'])).code, 0)
    assert.equal(JSON.parse((await cli.run(['profile', 'list', '--json'])).stdout).profiles[0].has_admin_token, true)
  })
})

describe('request', () => {
  test('prints only the grant on standard output, once approved', async () => {
    const { approve, registered, base } = shared()
    const cli = watched(await registered())
    const running = cli.start(['request', 'acme', '--method', 'GET', '--reason', 'To read your mail'])
    const [, id = ''] = /approve-proxy\/(arq_\w+)/.exec(await running.until(/in \d+ h\.\n/)) ?? []
    const grantId = await approve(id)
    const { code, stdout, stderr } = await running.ended
    assert.deepEqual([code, stdout], [0, `${grantId}\n`])
    assert.match(stdout, grantPattern)
    assert.equal(
      stderr,
      `A person has to approve access to Acme. Send them this link:\n  ${base}/approve-proxy/${id}\n  The link expires in 24 h.\n✓ Approved.\n`,
    )
  })

  test('for the sandbox prints its grant immediately, without a link', async () => {
    const { registered, base } = shared()
    const cli = watched(await registered())
    const { code, stdout, stderr } = await cli.run(['request', 'sandbox', '--reason', 'To try it out', '--open'])
    assert.deepEqual([code, stderr], [0, '✓ Approved.\n'])
    assert.match(stdout, grantPattern)
    const called = await cli.run(['call', '-g', stdout.trim(), `${base}/v4/sandbox/echo`])
    assert.match(called.stdout, /Bearer \[REDACTED\]/)
  })

  test('a denial has its reason and its own exit code', async () => {
    const { deny, registered } = shared()
    const cli = watched(await registered())
    const id = (await cli.run(['request', 'acme', '--no-wait'])).stdout.trim()
    await deny(id, 'Not today\u2060')
    const { code, stderr } = await cli.run(['wait', id])
    assert.deepEqual([code, stderr], [5, 'sallyport: access_denied: The access request was denied: Not today\\u2060\n'])
  })

  test('a timeout exits with 6 and Ctrl-C with 130; the request stays open', async () => {
    const { approve, registered } = shared()
    const cli = watched(await registered())
    const late = await cli.run(['request', 'acme', '--timeout', '1'])
    const [, id = ''] = /approve-proxy\/(arq_\w+)/.exec(late.stderr) ?? []
    assert.equal(late.code, 6)
    assert.match(
      late.stderr,
      new RegExp(
        `sallyport: pending: no decision yet; the request stays open\nContinue waiting: sallyport wait ${id}\n$`,
      ),
    )
    const running = cli.start(['request', 'acme'])
    const [, other = ''] = /approve-proxy\/(arq_\w+)/.exec(await running.until(/in 24 h\.\n/)) ?? []
    running.signal('SIGINT')
    const stopped = await running.ended
    assert.deepEqual([stopped.code, stopped.stdout], [130, ''])
    const said = `sallyport: stopped waiting; the request stays open\nContinue waiting: sallyport wait ${other}\n`
    assert.equal(stopped.stderr.slice(-said.length), said)
    const grantLater = cli.start(['wait', id, '--json'])
    const grantId = await approve(id)
    const { code, stdout } = await grantLater.ended
    assert.deepEqual([code, JSON.parse(stdout).grant_id], [0, grantId])
  })

  test('--open opens the link in the browser, as one argument and without a shell', async () => {
    const { registered, base } = shared()
    const cli = watched(await registered())
    const browser = join(cli.home, 'browser')
    const opened = join(cli.home, 'opened')
    writeFileSync(browser, `#!/bin/sh\nprintf '%s|' "$@" > ${opened}.new && mv ${opened}.new ${opened}\n`, {
      mode: 0o700,
    })
    const { code } = await cli.run(['request', 'acme', '--no-wait', '--open', '--user', "a'b;$(touch x)@example.com"], {
      env: { BROWSER: browser },
    })
    assert.equal(code, 0)
    for (let tries = 0; tries < 200 && !readdirSync(cli.home).includes('opened'); tries++) {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    assert.match(readFileSync(opened, 'utf8'), new RegExp(`^${base}/approve-proxy/arq_[^|]+\\|$`))
    assert.ok(!readdirSync(cli.home).includes('x'))
  })
})

test('no token was printed', () => {
  assert.ok(homes.length > 6)
  for (const cli of homes) {
    const printed = cli.printed()
    assert.ok(cli.secrets().length > 0)
    for (const secret of cli.secrets()) assert.ok(!printed.includes(secret))
  }
})
