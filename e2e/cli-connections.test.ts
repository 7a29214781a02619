/** People and their connections on the command line: signing in, and credentials that are never arguments. */
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { commandLineIn } from './command-line.ts'
import type { CommandLine } from './command-line.ts'
import { adasKey, adasNewKey, gracesKey, startKeyApi } from './key-api.ts'
import type { KeyApi } from './key-api.ts'
import { succeeded } from './person.ts'
import { dataFolder, startService } from './running-service.ts'
import type { RunningService } from './running-service.ts'

const endings: (() => unknown)[] = []
const scope: Parameters<typeof startKeyApi>[0] = { after: (end) => endings.push(end as () => unknown) }
const clis: CommandLine[] = []
let service: RunningService
let api: KeyApi
let base = ''
let folder = ''

before(async () => {
  api = await startKeyApi(scope)
  const { host, caFile } = api
  service = await startService(scope, 'sqlite', {
    SALLYPORT_EGRESS_ALLOW: host,
    SALLYPORT_EGRESS_CA_FILE: caFile,
  })
  base = `http://localhost:${service.port}`
  folder = dataFolder(scope)
  const place = { in: 'header', name: 'x-api-key' }
  const two = [
    { name: 'app_id', secret: false, label: 'App ID' },
    { name: 'app_key', label: 'App key' },
  ]
  const given = [
    [api.checked('Create a key in the settings of your account.')],
    [
      { kind: 'api_key', name: 'one', inject: [{ ...place, template: '{api_key}' }] },
      { kind: 'api_key', name: 'two', members: two, inject: [{ ...place, template: '{app_id}:{app_key}' }] },
    ],
    [api.app],
  ]
  for (const [index, auth_methods] of given.entries()) {
    const slug = ['keys', 'several', 'apps'][index]
    const body = { provider_name: `The ${slug}`, slug, api_hosts: [host], auth_methods }
    succeeded(await service.call('POST', '/v4/providers', { token: service.adminToken, body }))
  }
})

after(async () => {
  for (const { stop } of clis) stop()
  for (const end of endings.reverse()) await end()
})

function home(environment = {}): CommandLine {
  const place = join(folder, `home-${clis.length}`)
  mkdirSync(place)
  const cli = commandLineIn(place, { SALLYPORT_URL: base, ...environment })
  clis.push(cli)
  return cli
}

async function linkFor(name: string): Promise<string> {
  const body = { email: `${name}@example.com`, name }
  const issued = await service.call('POST', '/v4/auth/login-tokens', { token: service.adminToken, body })
  return succeeded(issued).body.login_url
}

async function signedIn(name: string): Promise<CommandLine> {
  const cli = home()
  const { code, stderr } = await cli.run(['login'], { input: await linkFor(name) })
  assert.equal(code, 0, stderr)
  return cli
}

/** No process of it has shown a key, and no file of it has one. */
function assertNothingKept(cli: CommandLine, ...keys: string[]): void {
  const names = readdirSync(join(cli.home, '.config'), { recursive: true, withFileTypes: true })
  const files = names.filter((one) => one.isFile()).map((one) => readFileSync(join(one.parentPath, one.name), 'utf8'))
  for (const key of keys) {
    assert.ok(!cli.printed().includes(key))
    assert.ok(!files.join('').includes(key))
  }
}

describe('signing in', () => {
  test('with a link from standard input; the session is stored apart, privately, until signing out', async () => {
    const cli = home({ SALLYPORT_URL: '' })
    const { code, stdout, stderr } = await cli.run(['login'], { input: `${await linkFor('ada')}\n` })
    assert.deepEqual([code, /^usr_\w{26}\n$/.test(stdout)], [0, true], stderr)
    assert.match(stderr, /^✓ Signed in as ada until /)
    const [token = ''] = cli.secrets()
    const file = join(cli.home, '.config/sallyport/sessions/default.json')
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), { url: base, session_token: token })
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.ok(!readFileSync(join(cli.home, '.config/sallyport/profiles/default.json'), 'utf8').includes('sp_session_'))
    assert.match((await cli.run(['whoami'])).stdout, /^session token from +profile default$/m)
    assert.equal((await cli.run(['grants'])).code, 3, 'a session is no agent')
    assert.equal((await cli.run(['logout'])).code, 0)
    assert.deepEqual(cli.secrets(), [])
    assert.equal((await service.call('GET', '/v4/auth/me', { token })).status, 401)
    assert.ok(!cli.printed().includes('sp_login_') && !cli.printed().includes(token))
  })

  test('with a link that is typed and not shown; never with one as an argument', async () => {
    const cli = home()
    const link = await linkFor('ada')
    const running = cli.startInTerminal(['login'])
    await running.until(/Sign-in link: /)
    running.type(`${link}\r`)
    const { code, stdout } = await running.ended
    assert.equal(code, 0, stdout)
    assert.ok(!stdout.includes('login_token'))
    for (const given of [link, 'something']) {
      const refused = await cli.run(['login', given])
      assert.deepEqual([refused.code, /don't pass a/.test(refused.stderr)], [2, true], refused.stderr)
      assert.ok(!refused.stderr.includes(given))
    }
    assert.equal((await cli.run(['login'], { input: 'https://example.com/' })).code, 2)
    const again = await cli.run(['login'], { input: link })
    assert.deepEqual([again.code, /this link no longer works/.test(again.stderr)], [3, true], again.stderr)
  })
})

describe('connecting', () => {
  test('a key from standard input, and from a file', async () => {
    const cli = await signedIn('ada')
    const piped = await cli.run(['connections', 'add', 'keys'], { input: `${adasKey}\n` })
    assert.match(piped.stdout, /^con_\w{26}\n$/, piped.stderr)
    assert.equal(piped.stderr, '✓ Connected The keys as ada\n')
    const file = join(cli.home, 'key')
    writeFileSync(file, gracesKey)
    const words = ['connections', 'add', 'keys', '--member-file', `api_key=${file}`, '--label', 'Shop', '--json']
    const { provider, account_label, status } = JSON.parse((await cli.run(words)).stdout)
    assert.deepEqual([provider, account_label, status], ['keys', 'Shop', 'active'])
    const { stdout } = await cli.run(['connections'])
    assert.match(stdout, /^con_\w{26}\tkeys\tactive\tapi_key\tShop\t-\ncon_\w{26}\tkeys\tactive\tapi_key\tada\t-\n$/)
    assertNothingKept(cli, adasKey, gracesKey)
  })

  test('a key that is typed at the terminal, and not shown', async () => {
    const cli = await signedIn('typist')
    const running = cli.startInTerminal(['connections', 'add', 'keys'])
    const seen = await running.until(/api_key: /)
    assert.ok(seen.includes('Create a key in the settings of your account.'))
    running.type(`${adasKey}xx\u007f\u007f\r`)
    const { code, stdout } = await running.ended
    assert.equal(code, 0, stdout)
    assert.match(stdout, /con_\w{26}/)
    assertNothingKept(cli, adasKey, 'sk_live')
    const stopped = cli.startInTerminal(['connections', 'add', 'keys'])
    await stopped.until(/api_key: /)
    stopped.type('sk_live_half\u0003')
    const ended = await stopped.ended
    assert.equal(ended.code, 130)
    assert.ok(!ended.stdout.includes('sk_live'))
  })

  test('members of several methods are listed, asked for, and told apart', async () => {
    const cli = await signedIn('several')
    const listed = await cli.run(['connections', 'add', 'several', '--members'])
    assert.equal(listed.stdout, 'one\tapi_key\tsecret\t-\ntwo\tapp_id\ttext\tApp ID\ntwo\tapp_key\tsecret\tApp key\n')
    const unsaid = await cli.run(['connections', 'add', 'several'], { input: adasKey })
    assert.deepEqual([unsaid.code, /--method: expected one of one, two/.test(unsaid.stderr)], [2, true])
    const two = ['connections', 'add', 'several', '--method', 'two']
    const missing = await cli.run(two, { input: adasKey })
    assert.deepEqual([missing.code, /missing: app_id, app_key/.test(missing.stderr)], [2, true], missing.stderr)
    const made = await cli.run([...two, '--member', 'app_id=app-1'], { input: adasKey })
    assert.equal(made.code, 0, made.stderr)
    const running = cli.startInTerminal([...two, '--label', 'Typed'])
    await running.until(/App ID: /)
    running.type('app-2\r')
    await running.until(/App key: /)
    running.type(`${gracesKey}\r`)
    const { code, stdout } = await running.ended
    assert.equal(code, 0, stdout)
    assert.match(stdout, /App ID: app-2\r\n/)
    assertNothingKept(cli, adasKey, gracesKey)
  })

  test('a key in a file of several lines, named as an option or at the terminal', async () => {
    const cli = await signedIn('app')
    const { app_id, installation_id, private_key: pem } = api.github.credential
    const file = join(cli.home, 'app.pem')
    writeFileSync(file, pem)
    const words = ['connections', 'add', 'apps', '--member', `app_id=${app_id}`]
    const wrong = await cli.run([...words, '--member', `installation_id=${installation_id}`], {
      input: '{"type": "x"}',
    })
    assert.match(wrong.stderr, /invalid_field: "credential\.private_key" is not a private key in PEM format/)
    const running = cli.startInTerminal(words)
    await running.until(/Installation ID: /)
    running.type(`${installation_id}\r`)
    await running.until(/Private key, the path of a file: /)
    running.type(`${file}\r`)
    const { code, stdout } = await running.ended
    assert.equal(code, 0, stdout)
    assert.match(stdout, /Connected The apps as ada-labs \(agents\)/)
    const [connection] = (await cli.run(['connections'])).stdout.split('\t')
    const replaced = ['connections', 'replace', connection ?? '', '--member-file', `private_key=${file}`]
    const again = await cli.run([
      ...replaced,
      ...['--member', `app_id=${app_id}`, '--member', `installation_id=${installation_id}`],
    ])
    assert.equal(again.code, 0, again.stderr)
    assertNothingKept(cli, pem.split('\n')[1] ?? pem)
  })

  test('a secret on the command line is refused with one sentence, and not repeated', async () => {
    const cli = await signedIn('careless')
    const before = (await cli.run(['connections', '--json'])).stdout
    for (const words of [
      ['add', 'keys', adasKey],
      ['add', 'keys', `--api-key=${adasKey}`],
      ['add', 'keys', '--api-key', adasKey],
      ['add', 'keys', `--${adasKey}`],
      ['add', 'keys', '--member', `api_key=${adasKey}`],
      ['replace', 'con_nothing', adasKey],
    ]) {
      const { code, stderr } = await cli.run(['connections', ...words])
      assert.equal(code, 2, words.join(' '))
      assert.match(stderr, /^sallyport: don't pass a credential on the command line, where other users/)
      assert.ok(!stderr.includes('sk_live'), stderr)
    }
    for (const pair of [adasKey, `${adasKey}=`, `=${adasKey}`]) {
      const { code, stderr } = await cli.run(['connections', 'add', 'keys', '--member', pair])
      assert.deepEqual([code, stderr.includes('sk_live')], [2, false], stderr)
    }
    assert.equal((await cli.run(['connections', '--json'])).stdout, before)
  })

  test('a wrong key, a short one and an empty one are refused, and nothing is stored', async () => {
    const cli = await signedIn('wrong')
    const add = (input: string, more: string[] = []) => cli.run(['connections', 'add', 'keys', ...more], { input })
    const refused = await add('sk_live_this-is-nobodys-key', ['--json'])
    const { code, upstream_status, exit_code } = JSON.parse(refused.stderr).error
    assert.deepEqual([code, upstream_status, exit_code], ['credential_refused', 401, 2])
    assert.match((await add('short')).stderr, /invalid_field: "credential\.api_key" is shorter than 16 characters/)
    assert.match((await add('')).stderr, /standard input: it is empty/)
    const unknown = await cli.run(['connections', 'add', 'nobody'], { input: adasKey })
    assert.match(unknown.stderr, /there is no provider "nobody" to connect/)
    const oauth = await cli.run(['connections', 'add', 'spotify'], { input: adasKey })
    assert.equal(oauth.code, 2)
    assert.deepEqual(JSON.parse((await cli.run(['connections', '--json'])).stdout), { connections: [] })
  })

  test('a preset that no administrator has added', async () => {
    const cli = await signedIn('researcher')
    const made = await cli.run(['connections', 'add', 'perplexity', '--label', 'Research'], { input: adasKey })
    assert.equal(made.stderr, '✓ Connected Perplexity as Research\n')
    assert.match((await cli.run(['providers'])).stdout, /^perplexity\tPerplexity\tactive\tyes\t/m)
  })

  test('an administrator connects for a user, by address; an agent can do nothing of it', async () => {
    await signedIn('linus')
    const operator = home({ SALLYPORT_ADMIN_TOKEN: service.adminToken })
    const words = ['connections', 'add', 'keys', '--user', 'LINUS@example.com']
    assert.equal((await operator.run(words, { input: adasKey })).code, 0)
    const listed = await operator.run(['connections', '--user', 'linus@example.com'])
    assert.match(listed.stdout, /^con_\w{26}\tkeys\tactive/)
    assert.equal((await operator.run(['connections', '--user', 'nobody@example.com'])).code, 2)
    const { token } = await service.register('Mail helper')
    const agent = home({ SALLYPORT_AGENT_TOKEN: token })
    assert.equal((await agent.run(['connections', 'add', 'keys'], { input: adasKey })).code, 3)
    const posing = home({ SALLYPORT_SESSION_TOKEN: token })
    const refused = await posing.run(['connections', 'add', 'keys'], { input: adasKey })
    assert.match(refused.stderr, /^sallyport: forbidden/)
  })
})

test("a credential is replaced by one of the same account; another user's connection is not found", async () => {
  const cli = await signedIn('replacer')
  const id = (await cli.run(['connections', 'add', 'keys'], { input: adasKey })).stdout.trim()
  const replace = (input: string, words: string[] = []) => cli.run(['connections', 'replace', id, ...words], { input })
  const other = await replace(gracesKey)
  assert.deepEqual([other.code, /^sallyport: conflict/.test(other.stderr)], [4, true], other.stderr)
  const replaced = await replace(adasNewKey)
  assert.deepEqual([replaced.code, replaced.stdout], [0, `${id}\n`], replaced.stderr)
  const theirs = await (await signedIn('mallory')).run(['connections', 'replace', id], { input: adasNewKey })
  assert.deepEqual([theirs.code, /you have no connection with this id/.test(theirs.stderr)], [2, true])

  const made = await cli.run(['connections', 'add', 'several', '--method', 'one'], { input: adasKey })
  const words = ['connections', 'replace', made.stdout.trim()]
  const warned = await cli.run(words, { input: adasNewKey })
  assert.deepEqual([warned.code, /all grants of this connection would end/.test(warned.stderr)], [2, true])
  assert.equal((await cli.run([...words, '--end-grants'], { input: adasNewKey })).code, 0)
  assertNothingKept(cli, adasKey, adasNewKey, gracesKey)
})
