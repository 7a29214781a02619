import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { runServer, settingsFor, sharedService, startService } from './running-service.ts'

const run = promisify(execFile)

function pastedLines(screen: string): string {
  const lines = screen.split('\n')
  return lines.slice(lines.findIndex((line) => line.includes('paste this')) + 1).join('\n')
}

function printedLoginToken(screen: string): string {
  return /#login_token=(sp_login_[0-9A-Za-z]+)/.exec(screen)?.[1] ?? ''
}

function modeOf(file: string): string {
  return (statSync(file).mode & 0o777).toString(8)
}

describe('the start screen', () => {
  const shared = sharedService('sqlite')

  test('its commands, pasted into a shell, show a redacted credential', async () => {
    const service = shared()
    const { stdout } = await run('sh', ['-c', pastedLines(service.stdout)])
    const answer = JSON.parse(stdout)
    assert.equal(answer.body.headers.authorization, 'Bearer [REDACTED]')
    assert.equal(answer.redactions, 1)
    assert.ok(!stdout.includes('sp_sandbox_'))
  })

  test('its link signs in the owner, once', async () => {
    const service = shared()
    const body = { login_token: printedLoginToken(service.stdout) }
    const first = await service.call('POST', '/v4/auth/login', { body })
    assert.deepEqual([first.status, first.body.user.name], [200, 'owner'])
    const second = await service.call('POST', '/v4/auth/login', { body })
    assert.deepEqual([second.status, second.body.error.code], [401, 'unauthenticated'])
  })

  test('no link is printed without a terminal if other machines can connect', async (t) => {
    const elsewhere = { HOST: '0.0.0.0', SALLYPORT_BASE_URL: 'https://sallyport.example.com' }
    const service = await startService(t, 'sqlite', elsewhere)
    assert.match(service.stdout, /Sallyport is ready at https:\/\/sallyport\.example\.com/)
    assert.ok(!service.stdout.includes('login_token'))
    assert.match(service.stdout, /sign in with a link from: POST \/v4\/auth\/login-tokens/)
  })

  test('it shows where the admin token is stored', async () => {
    const service = shared()
    assert.match(service.stdout, /Admin token {2}\S+admin-token\n/)
    assert.equal((await service.call('GET', '/v4/agents', { token: service.adminToken })).status, 200)
  })
})

describe('the data directory', () => {
  test('is readable by its owner only, with every file in it', async (t) => {
    const service = await startService(t, 'sqlite')
    await service.register()
    assert.equal(modeOf(service.dataDir), '700')
    const names = readdirSync(service.dataDir).sort()
    const database = ['', '-reserve', '-shm', '-wal'].map((part) => `sallyport.db${part}`)
    assert.deepEqual(names, ['admin-token', 'master-key', ...database])
    for (const name of names) assert.equal(modeOf(join(service.dataDir, name)), '600', name)
  })

  test('a second start on it keeps agents, sessions, keys and sandboxes', async (t) => {
    const service = await startService(t, 'sqlite')
    const { agentId, token } = await service.register('the first')
    const { grant_id, example } = (await service.call('POST', '/v4/sandbox/start', { token })).body
    const login = { login_token: printedLoginToken(service.stdout) }
    const { session_token } = (await service.call('POST', '/v4/auth/login', { body: login })).body
    const { adminToken } = service
    assert.deepEqual(await service.stop(), { code: 0, signal: null })

    await service.startAgain()
    t.diagnostic(`start to ready on an existing database: ${Math.round(service.startMs)} ms`)
    assert.equal(service.adminToken, adminToken)
    const me = await service.call('GET', '/v4/agents/me', { token })
    assert.deepEqual([me.body.agent_id, me.body.name], [agentId, 'the first'])
    assert.equal((await service.call('GET', '/v4/auth/me', { token: session_token })).body.user.name, 'owner')
    const echoed = await service.call('POST', '/v4/proxy', { token, body: example.body })
    assert.deepEqual([echoed.status, example.body.grant_id], [200, grant_id])
    assert.equal(echoed.body.body.headers.authorization, 'Bearer [REDACTED]', 'the master key is the same')
  })

  test('a wrong master key is refused, and a lost one is reported', async (t) => {
    const service = await startService(t, 'sqlite')
    await service.stop()
    const { code, stderr } = await runServer(t, [], {
      ...service.env,
      SALLYPORT_MASTER_KEY: randomBytes(32).toString('base64'),
    })
    assert.equal(code, 1)
    assert.match(stderr, /^The master key does not match the one that encrypted this database\..*\n$/)

    rmSync(join(service.dataDir, 'master-key'))
    const lost = await runServer(t, [], service.env)
    assert.equal(lost.code, 1)
    assert.match(lost.stderr, /master-key is missing.*Restore it\./)
  })
})

describe('a start that is refused', { concurrency: 2 }, () => {
  const cases: [string, Record<string, string>, RegExp[]][] = [
    [
      'every value that can not be read',
      {
        PORT: '70000',
        SALLYPORT_LOG_LEVEL: 'loud',
        SALLYPORT_BASE_URL: 'https://a.example/x',
        SALLYPORT_MASTER_KEY_FILE: '/nowhere',
      },
      [
        /PORT: got "70000"; expected a whole number from 1 to 65535\./,
        /SALLYPORT_LOG_LEVEL: got "loud"; expected one of debug, info,/,
        /SALLYPORT_BASE_URL: got "https:\/\/a\.example\/x"; expected an http or https URL without a path/,
        /SALLYPORT_MASTER_KEY_FILE names a file that cannot be read \(ENOENT\)/,
      ],
    ],
    [
      'a certificate without its key, another kind of database and short secrets',
      {
        SALLYPORT_TLS_CERT_FILE: '/nowhere',
        DATABASE_URL: 'mysql://localhost/x',
        SALLYPORT_ADMIN_TOKEN: 'short',
        SALLYPORT_MASTER_KEY: 'c2hvcnQ=',
      },
      [
        /SALLYPORT_TLS_CERT_FILE and SALLYPORT_TLS_KEY_FILE must be set together/,
        /DATABASE_URL must be a URL/,
        /SALLYPORT_ADMIN_TOKEN must be 32 or more/,
        /SALLYPORT_MASTER_KEY must be 32 bytes/,
      ],
    ],
    [
      'plain http for others, and PostgreSQL without the shared secrets,',
      { HOST: '192.0.2.1', DATABASE_URL: 'postgres://127.0.0.1:1/x' },
      [
        /HOST: got "192\.0\.2\.1"; expected a loopback address/,
        /SALLYPORT_ADMIN_TOKEN must be set together with DATABASE_URL/,
        /SALLYPORT_MASTER_KEY must be set together with DATABASE_URL/,
      ],
    ],
    ['every address without a base URL', { HOST: '0.0.0.0' }, [/SALLYPORT_BASE_URL is required/]],
  ]
  for (const [what, settings, words] of cases) {
    test(`${what} stops the start and is named`, async (t) => {
      const { code, stdout, stderr } = await runServer(t, [], await settingsFor(t, 'sqlite', settings))
      assert.equal(code, 1)
      assert.equal(stdout, '')
      for (const one of words) assert.match(stderr, one)
      assert.ok(
        stderr.split('\n').every((line) => line === '' || line.startsWith('Setting: ')),
        stderr,
      )
    })
  }

  test('a port in use is reported', async (t) => {
    const other = createServer().listen(0, '127.0.0.1')
    t.after(() => other.close())
    await once(other, 'listening')
    const port = String((other.address() as AddressInfo).port)
    for (const name of ['PORT', 'SALLYPORT_METRICS_PORT']) {
      const settings = { [name]: port, SALLYPORT_LOG_LEVEL: 'error' }
      const { code, stdout, stderr } = await runServer(t, [], await settingsFor(t, 'sqlite', settings))
      assert.equal(code, 1)
      assert.equal(stdout, '')
      assert.equal(
        stderr,
        `Port ${port} is in use. Stop the process that uses it, or change PORT, SALLYPORT_METRICS_PORT or SALLYPORT_GATEWAY_PORT.\n`,
      )
    }
  })

  test('an unreadable certificate is reported', async (t) => {
    const settings = await settingsFor(t, 'sqlite')
    const file = join(settings['SALLYPORT_DATA_DIR'] ?? '', 'not-a-certificate')
    writeFileSync(file, 'nothing of the kind')
    for (const bad of ['/nowhere/cert.pem', file]) {
      const tls = { SALLYPORT_TLS_CERT_FILE: bad, SALLYPORT_TLS_KEY_FILE: bad }
      const { code, stderr } = await runServer(t, [], { ...settings, ...tls })
      assert.equal(code, 1)
      assert.match(stderr, /^Setting: SALLYPORT_TLS_CERT_FILE/)
      assert.ok(!/\n {4}at /.test(stderr), stderr)
    }
  })

  test('an unknown setting is a warning, and the start continues', async (t) => {
    const service = await startService(t, 'sqlite', { SALLYPORT_REGISTRATION_PER_MINUTE: '5' })
    assert.match(service.log, /"name":"SALLYPORT_REGISTRATION_PER_MINUTE".*misspelled/)
    assert.equal((await service.call('GET', '/readyz')).status, 200)
  })
})
