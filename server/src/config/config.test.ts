import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { test } from 'node:test'
import { isLoopback } from '../platform/config/platform-settings.ts'
import { readConfig, secretSettings, settings, unknownSettings } from './config.ts'
import type { Environment } from '../platform/config/settings.ts'
import { ConfigError } from '../platform/config/settings.ts'

const masterKey = Buffer.alloc(32, 7).toString('base64')
const adminToken = 'an-admin-token-of-32-characters-or-more'
const shared = { SALLYPORT_MASTER_KEY: masterKey, SALLYPORT_ADMIN_TOKEN: adminToken }

function problemsOf(env: Environment): readonly string[] {
  try {
    readConfig(env)
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    return error.problems
  }
  return []
}

function refuses(env: Environment, ...expected: (string | RegExp)[]): void {
  const problems = problemsOf(env)
  assert.equal(problems.length, expected.length, `${JSON.stringify(env)} gave ${JSON.stringify(problems)}`)
  for (const [index, text] of expected.entries()) {
    if (typeof text === 'string') assert.equal(problems[index], text)
    else assert.match(problems[index] ?? '', text)
  }
}

function takes(env: Environment): void {
  assert.deepEqual(problemsOf(env), [], JSON.stringify(env))
}

test('with nothing set, everything has its default', () => {
  const config = readConfig({})
  assert.deepEqual([config.host, config.port, config.baseUrl.href], ['127.0.0.1', 8787, 'http://localhost:8787/'])
  assert.ok(isAbsolute(config.dataDir) && config.dataDir.endsWith('/data'))
  assert.ok(!config.databaseUrl.isSet && !config.adminToken.isSet && !config.masterKey.isSet)
  assert.equal(config.masterKey.read(), undefined)
})

test('the error for an invalid value has its name, the value and what is allowed', () => {
  const port = 'expected a whole number from 1 to 65535.'
  for (const value of ['0', '65536', '-1', '1.5', '1e3', '0x50', ' 80', '', 'http', '9'.repeat(400)]) {
    refuses({ PORT: value }, `PORT: got "${value}"; ${port}`)
  }
  refuses(
    { SALLYPORT_LOG_LEVEL: 'loud' },
    'SALLYPORT_LOG_LEVEL: got "loud"; expected one of debug, info, warn, error, silent.',
  )
  refuses({ SALLYPORT_DATABASE_INSECURE: 'yes' }, 'SALLYPORT_DATABASE_INSECURE: got "yes"; expected one of 0, 1.')
  refuses({ SALLYPORT_DATA_DIR: ' ' }, 'SALLYPORT_DATA_DIR: got " "; expected some text.')
  refuses({ SALLYPORT_METRICS_PORT: 'x' }, `SALLYPORT_METRICS_PORT: got "x"; ${port}`)
})

test('all problems are reported together', () => {
  refuses(
    { PORT: 'x', SALLYPORT_LOG_FORMAT: 'xml', SALLYPORT_STOP_SECONDS: '301', DATABASE_URL_FILE: '/does/not/exist' },
    /^PORT: /,
    /^SALLYPORT_LOG_FORMAT: /,
    /^SALLYPORT_STOP_SECONDS: /,
    /^DATABASE_URL_FILE names/,
  )
  refuses(
    { HOST: '192.0.2.1', SALLYPORT_TLS_KEY_FILE: 'key.pem', SALLYPORT_ADMIN_TOKEN: 'short', DATABASE_URL: 'mysql://x' },
    /^SALLYPORT_TLS_CERT_FILE and SALLYPORT_TLS_KEY_FILE must be set together/,
    /^HOST: /,
    /^DATABASE_URL must be /,
    /^SALLYPORT_MASTER_KEY must be set/,
    /^SALLYPORT_ADMIN_TOKEN must be /,
  )
})

test('the request timeout may not be shorter than the header timeout', () => {
  refuses(
    { SALLYPORT_REQUEST_TIMEOUT_SECONDS: '9' },
    'SALLYPORT_REQUEST_TIMEOUT_SECONDS: got "9"; expected at least SALLYPORT_HEADERS_TIMEOUT_SECONDS.',
  )
  readConfig({ SALLYPORT_REQUEST_TIMEOUT_SECONDS: '9', SALLYPORT_HEADERS_TIMEOUT_SECONDS: '9' })
})

test('metrics reachable from other machines need a token', () => {
  const reachable = { HOST: '192.0.2.1', SALLYPORT_BASE_URL: 'https://a.example', SALLYPORT_METRICS_PORT: '9464' }
  const token = 'x'.repeat(32)
  refuses(
    reachable,
    'SALLYPORT_METRICS_TOKEN is required because SALLYPORT_METRICS_PORT can be reached from other machines.',
  )
  takes({ ...reachable, SALLYPORT_METRICS_TOKEN: token })
  takes({ SALLYPORT_METRICS_PORT: '9464' })
  refuses({ SALLYPORT_METRICS_TOKEN: 'short' }, /^SALLYPORT_METRICS_TOKEN must be 32 or more/)
})

test('the gateway has a port of its own, and is reachable from other machines with TLS only', () => {
  const tls = { SALLYPORT_TLS_CERT_FILE: 'cert.pem', SALLYPORT_TLS_KEY_FILE: 'key.pem' }
  assert.equal(readConfig({}).gatewayPort, undefined)
  assert.equal(readConfig({ SALLYPORT_GATEWAY_PORT: 'off' }).gatewayPort, 'off')
  assert.equal(readConfig({ SALLYPORT_GATEWAY_PORT: '9000' }).gatewayPort, 9000)
  for (const value of ['0', '65536', 'on', 'OFF', '-1', ' 80']) {
    const expected = `SALLYPORT_GATEWAY_PORT: got "${value}"; expected off, or a whole number from 1 to 65535.`
    refuses({ SALLYPORT_GATEWAY_PORT: value }, expected)
  }
  const other = 'expected a different port than PORT and SALLYPORT_METRICS_PORT.'
  refuses({ SALLYPORT_GATEWAY_PORT: '8787' }, `SALLYPORT_GATEWAY_PORT: got "8787"; ${other}`)
  refuses(
    { SALLYPORT_METRICS_PORT: '9464', SALLYPORT_GATEWAY_PORT: '9464' },
    `SALLYPORT_GATEWAY_PORT: got "9464"; ${other}`,
  )
  refuses({ SALLYPORT_GATEWAY_HOST: '0.0.0.0' }, /^SALLYPORT_GATEWAY_HOST: got "0.0.0.0"; expected a loopback address/)
  takes({ SALLYPORT_GATEWAY_HOST: '0.0.0.0', ...tls })
  takes({ SALLYPORT_GATEWAY_HOST: '0.0.0.0', SALLYPORT_GATEWAY_PORT: 'off' })
})

test('a base URL has a scheme, a host and nothing more', () => {
  for (const value of ['https://vault.example.com', 'http://localhost:8787/', 'https://[2001:db8::1]:8443']) {
    takes({ SALLYPORT_BASE_URL: value })
  }
  const wrong = ['vault.example.com', 'ftp://a.example', 'https://a.example/path', 'https://a.example/?q', 'https://']
  for (const value of [...wrong, 'https://a.example/#f', 'https://me@a.example', 'https://:word@a.example']) {
    refuses(
      { SALLYPORT_BASE_URL: value },
      /^SALLYPORT_BASE_URL: got ".*"; expected an http or https URL without a path/,
    )
  }
})

test('the default base URL follows from HOST, PORT and TLS', () => {
  const tls = { SALLYPORT_TLS_CERT_FILE: 'cert.pem', SALLYPORT_TLS_KEY_FILE: 'key.pem' }
  const cases: [Environment, string][] = [
    [{ PORT: '80' }, 'http://localhost'],
    [{ HOST: '::1' }, 'http://localhost:8787'],
    [{ HOST: '127.1.2.3' }, 'http://localhost:8787'],
    [{ ...tls }, 'https://localhost:8787'],
    [{ ...tls, HOST: '192.0.2.1', PORT: '443' }, 'https://192.0.2.1'],
    [{ ...tls, HOST: '2001:db8::1' }, 'https://[2001:db8::1]:8787'],
    [{ ...tls, HOST: 'vault.example.com' }, 'https://vault.example.com:8787'],
  ]
  for (const [env, origin] of cases) assert.equal(readConfig(env).baseUrl.origin, origin)
})

test('listening on all addresses needs a base URL for links', () => {
  const tls = { SALLYPORT_TLS_CERT_FILE: 'cert.pem', SALLYPORT_TLS_KEY_FILE: 'key.pem' }
  for (const HOST of ['0.0.0.0', '::', '::0', '0:0:0:0:0:0:0:0', 'fe80::1%eth0']) {
    refuses({ HOST, ...tls }, /^SALLYPORT_BASE_URL is required when HOST is /)
    takes({ HOST, ...tls, SALLYPORT_BASE_URL: 'https://vault.example.com' })
  }
})

test('HOST takes an address or a name', () => {
  for (const HOST of ['a b', 'a/b', 'me@a', 'a:80', '[::1]', 'http://localhost', '', '1.2.3.4\n']) {
    refuses({ HOST }, /^HOST: got "[^]*"; expected /)
  }
})

test('off loopback, http is refused', () => {
  for (const HOST of [
    '192.0.2.1',
    '0.0.0.0',
    '2001:db8::1',
    'vault.internal',
    '127.evil.example',
    'localhost.example',
  ]) {
    refuses(
      { HOST, SALLYPORT_BASE_URL: 'http://vault.example.com' },
      /^HOST: got ".*"; expected a loopback address while/,
    )
    takes({ HOST, SALLYPORT_BASE_URL: 'https://vault.example.com' })
  }
  for (const HOST of ['127.0.0.1', 'localhost', '::1']) takes({ HOST, SALLYPORT_BASE_URL: 'http://vault.example.com' })
})

test('a TLS certificate needs its key, and an https base URL', () => {
  const pair = { SALLYPORT_TLS_CERT_FILE: 'cert.pem', SALLYPORT_TLS_KEY_FILE: 'key.pem' }
  takes({ ...pair, HOST: '192.0.2.1' })
  refuses({ SALLYPORT_TLS_CERT_FILE: 'cert.pem' }, /must be set together; one of them is missing/)
  refuses({ SALLYPORT_TLS_KEY_FILE: 'key.pem' }, /must be set together; one of them is missing/)
  refuses({ ...pair, SALLYPORT_BASE_URL: 'http://localhost:8787' }, /^SALLYPORT_BASE_URL: .* expected an https URL/)
})

test('with DATABASE_URL the master key and the admin token must be given', () => {
  const DATABASE_URL = 'postgres://db.example.com/sallyport'
  takes({ DATABASE_URL, ...shared })
  takes({ ...shared, DATABASE_URL: 'postgresql://me:word@db.example.com/sallyport?sslmode=verify-full' })
  const missing = (name: string) => `${name} must be set together with DATABASE_URL.`
  refuses({ DATABASE_URL }, missing('SALLYPORT_ADMIN_TOKEN'), missing('SALLYPORT_MASTER_KEY'))
  refuses({ DATABASE_URL, SALLYPORT_ADMIN_TOKEN: adminToken }, missing('SALLYPORT_MASTER_KEY'))
})

test('an invalid PostgreSQL URL is refused at the start', () => {
  for (const DATABASE_URL of [
    'mysql://a/b',
    'sqlite.db',
    'postgres:/a',
    'postgres://me:hush@[a/b',
    'postgres://a:b:c',
    'postgres://me:hush@one,,two/a',
    'postgres://me:hush@one:5432,two:x/a',
  ]) {
    refuses({ ...shared, DATABASE_URL }, /^DATABASE_URL must be a URL that starts with postgres:\/\//)
  }
})

test('several PostgreSQL hosts are taken, but not a wish for one that is read-only', () => {
  const several = 'postgres://me:word@one.example.com:5432,two.example.com:5433/sallyport'
  for (const wish of ['', '?target_session_attrs=read-write', '?sslmode=require&target_session_attrs=primary']) {
    takes({ ...shared, DATABASE_URL: several + wish })
  }
  for (const wish of ['any', 'standby', 'read-only', 'prefer-standby']) {
    refuses(
      { ...shared, DATABASE_URL: `${several}?target_session_attrs=${wish}` },
      /target_session_attrs must be read-write/,
    )
  }
})

test('an admin token has 32 or more visible characters', () => {
  takes({ SALLYPORT_ADMIN_TOKEN: '!~'.repeat(16) })
  for (const value of ['x'.repeat(31), `${'x'.repeat(32)} y`, 'ü'.repeat(32), `${'x'.repeat(32)}\u0000`]) {
    refuses({ SALLYPORT_ADMIN_TOKEN: value }, /^SALLYPORT_ADMIN_TOKEN must be 32 or more visible/)
  }
})

test('trusted proxies are addresses or ranges', () => {
  const trusted = '10.0.0.0/8, 192.0.2.1,2001:db8::/32'
  assert.deepEqual(readConfig({ SALLYPORT_TRUST_PROXY: trusted }).trustProxy, [
    '10.0.0.0/8',
    '192.0.2.1',
    '2001:db8::/32',
  ])
  const wrong = ['true', '*', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '::/129', '10.0.0.0/-1', '10.0.0.1,', 'a.b']
  for (const value of [...wrong, '0.0.0.0/0', '::/0', '10.1.2.3/8', '2001:db8::1/32']) {
    refuses({ SALLYPORT_TRUST_PROXY: value }, /^SALLYPORT_TRUST_PROXY: got ".*"; expected IP addresses or CIDR ranges/)
  }
})

test('no error message contains a secret', () => {
  const values = ['postgres://me:hush-hush@[db/x', 'hush-hush', `hush hush,${masterKey}`]
  for (const value of values) {
    const env = Object.fromEntries(Object.keys(secretSettings).map((name) => [name, value]))
    const problems = problemsOf(env)
    assert.equal(problems.length, Object.keys(env).length, value)
    assert.ok(!problems.join().includes('hush') && !problems.join().includes(masterKey), problems.join())
  }
})

test('unknown names that look like settings are reported', () => {
  const known = [...Object.keys(settings), ...Object.keys(secretSettings)].map((name) => [name, 'x'])
  const secret = ['SALLYPORT_MASTER_KEY_FILE', 'SALLYPORT_ADMIN_TOKEN_COMMAND'].map((name) => [name, 'x'])
  const env = Object.fromEntries([...known, ...secret]) as Environment
  assert.deepEqual(unknownSettings(env), [])
  const misspelt = {
    SALLYPORT_BASEURL: 'x',
    SALLYPORT_PORT: '1',
    SALLYPORT_LOG_LEVEL_FILE: 'x',
    PATH: '/bin',
    HOSTS: 'a',
  }
  assert.deepEqual(unknownSettings({ ...env, ...misspelt }), [
    'SALLYPORT_BASEURL',
    'SALLYPORT_PORT',
    'SALLYPORT_LOG_LEVEL_FILE',
  ])
})

test('loopback addresses are recognised, and lookalikes are not', () => {
  for (const host of ['localhost', '127.0.0.1', '127.255.255.254', '::1', '[::1]']) assert.ok(isLoopback(host), host)
  const others = [
    '',
    '128.0.0.1',
    '127.0.0.1.example',
    '127.1',
    '::2',
    '::',
    '0.0.0.0',
    'localhost.example',
    '::ffff:127.0.0.1',
  ]
  for (const host of others) assert.ok(!isLoopback(host), host)
})

test('variables of the command line are not taken for misspelled settings', () => {
  const folder = resolve(import.meta.dirname, '../../../cli/src')
  const files = globSync('**/*.ts', { cwd: folder, exclude: (name) => name.endsWith('.test.ts') })
  const text = files.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n')
  const names = [...new Set(text.match(/\bSALLYPORT_[A-Z_]*[A-Z]\b/g))]
  assert.ok(names.includes('SALLYPORT_URL') && names.length > 5)
  assert.deepEqual(unknownSettings(Object.fromEntries(names.map((name) => [name, 'x']))), [])
})
