/** What operators do with the command line, receipts, and errors for invalid input. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { createDeviceClient, generateDeviceKey, pairDevice } from '@sallyport/sdk'
import { sharedAgentSide } from './agent-side.ts'
import { succeeded } from './person.ts'

const shared = sharedAgentSide()
const execute = promisify(execFile)

describe('an operator', () => {
  const operator = () => shared().home({ SALLYPORT_ADMIN_TOKEN: shared().service.adminToken })

  test('creates a login link, lists and disables agents, and reads the audit log', async () => {
    const { service, base } = shared()
    const cli = operator()
    const link = await cli.run(['login-link', '--email', 'ada@example.com', '--ttl', '600'])
    assert.match(link.stdout, new RegExp(`^${base}/\\S*#login_token=sp_login_\\w+\n$`))
    assert.match(link.stderr, /^Signs in usr_\w{26}\. Works once; expires in 10 min\.\n$/)
    const login_token = link.stdout.trim().split('login_token=')[1]
    const signedIn = await service.call('POST', '/v4/auth/login', { body: { login_token } })
    assert.equal(succeeded(signedIn).body.user.email, 'ada@example.com')

    const { agentId } = await service.register('Rogue')
    const list = await cli.run(['agents', '--status', 'active', '--limit', '1'])
    assert.match(list.stdout, new RegExp(`^${agentId}\tactive\t\\d{4}-\\S+Z\t0\t-\tRogue\n$`))
    const ended = await cli.run(['agents', 'disable', agentId])
    assert.deepEqual([ended.code, ended.stdout], [0, `${agentId} is disabled\n`])

    const following = cli.start(['audit', '--follow', '--json', '--limit', '1'])
    await following.until(/"event":"agent\.disabled"/)
    const other = await service.register('Seen')
    await following.until(new RegExp(other.agentId))
    following.signal('SIGINT')
    const { code, stdout } = await following.ended
    assert.equal(code, 0)
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.deepEqual(
      events.map(({ event, agent_id }) => [event, agent_id]),
      [
        ['agent.disabled', agentId],
        ['agent.registered', other.agentId],
      ],
    )
    const enabled = await cli.run(['agents', 'enable', agentId])
    assert.deepEqual([enabled.code, enabled.stdout], [0, `${agentId} is active\n`])
    const once = await cli.run(['audit', '--event', 'agent.disabled', '--since', '1h'])
    assert.match(once.stdout, new RegExp(`^\\d{4}-\\S+Z\tagent\\.disabled\t-\t${agentId}\t-\n$`))
  })

  test('pauses and resumes all agents of the service', async () => {
    const cli = operator()
    const paused = await cli.run(['pause', '--service'])
    const said = 'Paused. No calls go out until: sallyport resume --service\n'
    assert.deepEqual([paused.code, paused.stdout], [0, said])
    const resumed = await cli.run(['resume', '--service', '--json'])
    assert.deepEqual(JSON.parse(resumed.stdout), { paused_at: null, service_paused_at: null })
    assert.equal((await cli.run(['resume', '--service'])).stdout, 'Resumed. Agents may make calls again.\n')
  })

  test('adds a provider with a secret from a file, changes and deletes it', async () => {
    const cli = operator()
    const secret = 'a-secret-of-the-provider-0123456789'
    const file = join(cli.home, 'secret')
    writeFileSync(file, `${secret}\n`)
    const added = await cli.run([
      'providers',
      'add',
      '--preset',
      'github',
      '--client-id',
      'one',
      '--client-secret-file',
      file,
    ])
    assert.match(added.stdout, /^github is active \(prv_\w{26}\)\n$/)
    assert.match(added.stderr, /^Redirect URI to register with the provider: http\S+\/v4\/oauth\/callback\/github\n$/)
    const list = await cli.run(['providers'])
    assert.match(list.stdout, /^github\tGitHub\tactive\tyes\t\S+$/m)
    const edit = (...given: string[]) => cli.run(['providers', 'edit', 'github', ...given])
    const edited = await edit(
      '--name',
      'Our GitHub',
      '--add-api-host',
      'ghe.example',
      '--remove-api-host',
      'uploads.github.com',
    )
    assert.match(edited.stdout, /^github is active /)
    assert.match(edited.stderr, /Allowed API hosts: api\.github\.com, github\.com, ghe\.example\n$/)
    assert.match((await cli.run(['providers'])).stdout, /^github\tOur GitHub\t/m)
    const nothing = await edit()
    assert.deepEqual([nothing.code, /nothing to change/.test(nothing.stderr)], [2, true])
    const unknown = await edit('--remove-api-host', 'uploads.github.com')
    assert.match(unknown.stderr, /^sallyport: "uploads\.github\.com" is not one of its hosts: api\.github\.com, /)
    assert.match((await edit('--add-api-host', '*.com')).stderr, /hosts of other organizations/)
    assert.match((await cli.run(['providers', 'disable', 'github'])).stdout, /^github is disabled /)
    assert.match((await cli.run(['providers', 'delete', 'github'])).stdout, /^github is deleted /)
    const gone = await cli.run(['providers', 'enable', 'github'])
    assert.deepEqual(
      [gone.code, gone.stderr],
      [2, 'sallyport: no provider "github"\nList providers: sallyport providers --status all\n'],
    )
    assert.ok(!cli.printed().includes(secret))
  })
})

test('a receipt is verified offline: signed, unsigned, tampered with, by another key', async () => {
  const { service, personToken, connectionId, base, admitted } = shared()
  const cli = await shared().registered()
  const id = (await cli.run(['request', 'acme', '--no-wait'])).stdout.trim()
  const issued = succeeded(await service.call('POST', '/v4/devices/pairing-codes', { token: personToken }))
  const key = await generateDeviceKey()
  const { session_token: sessionToken } = await pairDevice({
    baseUrl: base,
    pairingCode: issued.body.pairing_code,
    key,
  })
  const device = createDeviceClient({ baseUrl: base, sessionToken, key })
  await device.accessRequests.approve(id, { connection_id: connectionId })
  const grants = JSON.parse((await cli.run(['grants', '--json'])).stdout).grants
  const receipt = join(cli.home, 'receipt.json')
  const shown = await cli.run(['receipt', 'show', grants[0].grant_id])
  writeFileSync(receipt, shown.stdout)
  const offline = { env: { SALLYPORT_URL: 'http://localhost:1', SALLYPORT_AGENT_TOKEN: '' } }
  const good = await cli.run(['receipt', 'verify', receipt, '--json'], offline)
  const { verdict, key: thumbprint, key_known, covers } = JSON.parse(good.stdout)
  assert.deepEqual([good.code, verdict, key_known], [0, 'signed', false])
  assert.ok(covers.includes('connection_id'))
  const known = await cli.run(['receipt', 'verify', receipt, '--key', thumbprint], offline)
  assert.match(known.stdout, new RegExp(`^Receipt    signed\nKey        ${thumbprint}\nCovers     connection_id`))
  const other = await cli.run(['receipt', 'verify', '-', '--key', 'A'.repeat(43)], { ...offline, input: shown.stdout })
  assert.deepEqual(
    [other.code, other.stdout.split('\n')[0]],
    [9, 'Receipt    wrong key: it was signed with a different key'],
  )
  const changed = { ...JSON.parse(shown.stdout), access_request_id: 'arq_01k9x3v7qmf5v8t2w4y6z8abcd' }
  const bad = await cli.run(['receipt', 'verify', '-'], { ...offline, input: JSON.stringify(changed) })
  assert.deepEqual([bad.code, bad.stdout], [9, 'Receipt    invalid: another text was signed\n'])
  const { token, grantId } = await admitted()
  const plain = await service.call('GET', `/v4/grants/${grantId}/receipt`, { token })
  const unsigned = await cli.run(['receipt', 'verify', '-'], { ...offline, input: plain.text })
  assert.deepEqual([unsigned.code, unsigned.stdout], [9, 'Receipt    unsigned: nothing in it can be verified\n'])
})

test('a person narrows and extends a grant, and sees why not', async () => {
  const { home, personToken, admitted } = shared()
  const { grantId } = await admitted()
  const cli = home({ SALLYPORT_SESSION_TOKEN: personToken })
  const change = (...words: string[]) => cli.run(['grants', 'change', grantId, ...words])
  assert.equal((await change('--method', 'GET', '--max-calls', '3')).stdout, `${grantId} is changed\n`)
  const { stdout } = await change('--expires', '2099-01-01T00:00:00Z', '--mode', 'ask_all', '--json')
  const { allowed_methods: methods, max_calls: most, mode, expires_at: end } = JSON.parse(stdout)
  assert.deepEqual([methods, most, mode, end], [['GET'], 3, 'ask_all', '2099-01-01T00:00:00.000Z'])
  assert.equal((await change('--used')).stdout, 'It already allows no more than what was used.\n')
  assert.equal((await change()).code, 2)
  const wrong = await change('--path', 'mail')
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /allowed_paths\.0/)
})

describe('wrong input gets one line and the right code', { concurrency: 4 }, () => {
  const token = 'sp_agent_0123456789012345678901234567890123456789012345678'
  const cases: [string[], number, string][] = [
    [['cal'], 2, 'unknown command "cal"; did you mean "call"?'],
    [
      ['providers', 'ad'],
      2,
      'unknown command "providers ad" (available: list, propose, presets, add, edit, endpoints, credentials, enable, disable, rediscover, delete)',
    ],
    [['--nonsense'], 2, 'unknown option --nonsense'],
    [['register'], 2, '<name> is missing: name shown to the person who approves'],
    [['register', 'a', 'b'], 2, '"b" is an unexpected argument'],
    [['register', ''], 2, 'invalid_field: "name" must not be empty.'],
    [['register', 'x', '--metadata', '{'], 2, '--metadata: not valid JSON'],
    [['request', 'nobody'], 4, 'not_found: No provider has this slug. GET /v4/providers lists the available ones.'],
    [['request', 'acme', '--timeout', '0'], 2, '--timeout: got "0"; expected a whole number from 1 to 604800'],
    [
      ['request', 'acme', '--max-calls', '1e3'],
      2,
      '--max-calls: got "1e3"; expected a whole number from 1 to 1000000000',
    ],
    [['wait', 'arq_nonsense'], 4, 'not_found: Not found, or not accessible with this credential.'],
    [['call'], 2, '<url> is missing: an https URL that a grant covers'],
    [['call', 'nonsense'], 2, '<url>: got "nonsense"; expected an https URL'],
    [['call', '-X'], 2, '-X needs a value (METHOD)'],
    [['call', '-X', 'GET', '-X', 'PUT', 'https://x.example'], 2, '-X was given twice'],
    [['call', '-H', 'nonsense', 'https://x.example'], 2, '-H: got "nonsense"; expected "Name: value"'],
    [['call', '-H', 'a: b\nc: d', 'https://x.example'], 2, String.raw`-H: got "a: b\x0ac: d"; expected "Name: value"`],
    [['call', '-d', '@/nowhere', 'https://x.example'], 2, "--data: /nowhere can't be read (ENOENT)"],
    [
      ['call', '-X', 'GET', '-d', 'x', 'https://x.example'],
      2,
      "GET can't have a body; omit -X, or use -G to put the data into the URL",
    ],
    [
      ['call', '--json', '--stream', 'https://x.example'],
      2,
      '{"error":{"code":"usage","message":"--json prints the whole response; omit --stream, --include, --head and --output","exit_code":2}}',
    ],
    [['call', '-g', 'grt_nonsense', 'https://x.example'], 4, 'grant_not_found: This agent has no grant with this id.'],
    [['call', '--grnt', 'x', 'https://x.example'], 2, 'unknown option --grnt; did you mean --grant?'],
    [['grants', '--status', 'lost'], 2, '--status: got "lost"; expected one of active, revoked, expired'],
    [['grants', 'revoke', 'grt_nonsense'], 4, 'not_found: Not found, or not accessible with this credential.'],
    [['receipt', 'verify', '/nowhere'], 2, "<file>: /nowhere can't be read (ENOENT)"],
    [['receipt', 'show', 'grt_nonsense'], 4, 'not_found: Not found, or not accessible with this credential.'],
    [['agents'], 3, 'this needs an admin token, and profile "default" has none'],
    [['login-link', '--ttl', '1d'], 2, '--ttl: got "1d"; expected a whole number from 1 to 86400'],
    [['providers', 'add'], 2, 'nothing to add: use --preset, --issuer or --file'],
    [['providers', 'propose'], 2, '--name is required: the display name'],
    [
      ['audit', '--since', 'yesterday'],
      2,
      '--since: got "yesterday"; expected a time such as 2030-01-31T08:00:00Z, or 30m, 12h, 7d',
    ],
    [['audit', '--follow', '--until', '1h'], 2, "--follow can't be combined with --until"],
    [['profile', 'use', 'nobody'], 2, 'no profile "nobody"'],
    [['profile', 'set'], 2, 'nothing to set: use --url, --agent-token-file or --admin-token-file'],
    [
      ['whoami', '--profile', '../x'],
      2,
      '"../x" is not a valid profile name: use up to 64 letters, digits, dots, underscores and hyphens',
    ],
    [['mcp', '--port', '99999'], 2, '--port: got "99999"; expected a whole number from 0 to 65535'],
    [['completion', 'tcsh'], 2, '<shell>: got "tcsh"; expected one of bash, zsh, fish'],
    [
      ['grants', '--url', 'ftp://x'],
      2,
      '--url: got "ftp://x"; expected an http or https address without a path or user name',
    ],
    [['grants', '--url', 'http://localhost:1'], 7, 'no_answer: http://localhost:1 did not respond'],
    [['call', token], 2, "don't pass a token on the command line, where other users of this machine can read it"],
  ]
  for (const [words, code, line] of cases) {
    test(`sallyport ${words.join(' ').replace(token, 'TOKEN')}`, async () => {
      const { home, agent } = shared()
      const cli = home({ SALLYPORT_AGENT_TOKEN: agent.token })
      const ended = await cli.run(words)
      assert.deepEqual(
        [ended.code, ended.stdout, ended.stderr.split('\n')[0]],
        [code, '', line.startsWith('{') ? line : `sallyport: ${line}`],
      )
      assert.ok(ended.stderr.trimEnd().split('\n').length <= 2, ended.stderr)
      assert.ok(!ended.stderr.includes('sp_agent_'))
    })
  }
})

test("it runs on Node 20 if installed, and so does the service's command", async (t) => {
  const cli = await shared().registered()
  const folders = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'node'))
  const versions = await Promise.all(
    folders.map(async (node) => [
      node,
      await execute(node, ['--version']).then(
        ({ stdout }) => stdout,
        () => '',
      ),
    ]),
  )
  const [node] = versions.find(([, version]) => version?.startsWith('v20.')) ?? []
  if (node === undefined) {
    t.skip('no Node 20 is in the PATH')
    return
  }
  const executable = join(import.meta.dirname, '../server/bin/sallyport-server.mjs')
  assert.match((await execute(node, [executable, '--help'])).stdout, /audit verify/)
  const started = await cli.run(['sandbox', '--json'], { node })
  assert.equal(JSON.parse(started.stdout).first_call.authorization, 'Bearer [REDACTED]', started.stderr)
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
  const input = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`
  const { code, stdout, stderr } = await cli.run(['mcp'], { node, input })
  assert.deepEqual([code, JSON.parse(stdout).result.serverInfo.name], [0, 'sallyport'], stderr)
})

test("/llms.txt is SKILL.md with the service's URL", async () => {
  const { service, base } = shared()
  const { status, headers, text } = await service.call('GET', '/llms.txt')
  assert.deepEqual([status, headers['content-type']], [200, 'text/plain; charset=utf-8'])
  const page = readFileSync(join(import.meta.dirname, '../SKILL.md'), 'utf8')
  assert.equal(text, page.slice(page.indexOf('# Sallyport')).replaceAll('http://localhost:8787', base))
  assert.match(page, /^---\nname: sallyport\ndescription: .+\n---\n\n# Sallyport\n/)
})
