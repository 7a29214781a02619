import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import pg from 'pg'
import { temporaryPostgres } from '../server/testkit/databases.ts'
import { freePort } from '../server/testkit/ports.ts'
import { dataFolder, runServer, settingsFor, spawnServer, startService } from './running-service.ts'

/** A self-signed certificate for a name, valid for this many days from today; negative: expired. */
function makeCertificate(folder: string, name: string, days: number) {
  const file = (ending: string) => join(folder, `${name}${days}.${ending}`)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' })
  const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().replace(/[-:T]|\.\d+/g, '')
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', file('key')]
  openssl('req', '-new', ...curve, '-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`, '-out', file('csr'))
  // Only the `ca` command accepts dates in the past, and it needs a database file.
  const lines = ['[ca]', 'default_ca = own', '[own]', `database = ${file('index')}`, `new_certs_dir = ${folder}`]
  lines.push('rand_serial = yes', 'default_md = sha256', 'policy = any', 'copy_extensions = copy')
  lines.push('[any]', 'commonName = supplied')
  writeFileSync(file('conf'), lines.join('\n'))
  writeFileSync(file('index'), '')
  const dates = ['-startdate', day(days - 60), '-enddate', day(days)]
  const files = ['-config', file('conf'), '-in', file('csr'), '-keyfile', file('key'), '-out', file('pem')]
  openssl('ca', '-selfsign', '-batch', '-notext', ...files, ...dates)
  return { SALLYPORT_TLS_CERT_FILE: file('pem'), SALLYPORT_TLS_KEY_FILE: file('key') }
}

/** The exit codes of all commands but serve, in a folder where the service has never run. */
const exitCodes = {
  ...{ config: 0, doctor: 0, 'systemd-unit': 0, '--version': 0 },
  ...{ 'audit verify': 1, 'audit follow': 1, 'keys rotate': 1, 'v1-key rotate': 1 },
  ...{ backup: 2, restore: 2 },
}

describe('sallyport-server', { concurrency: 2 }, () => {
  test('help lists every command, and an unknown one exits with 2', async (t) => {
    const env = await settingsFor(t, 'sqlite')
    const commands = [
      'serve',
      'config',
      'doctor',
      'backup',
      'restore',
      'keys rotate',
      'v1-key rotate',
      'audit verify',
      'audit follow',
    ]
    const help = await runServer(t, ['--help'], env)
    assert.equal(help.code, 0)
    for (const words of commands) assert.ok(help.stdout.includes(`sallyport-server ${words} `), words)
    const unknown = await runServer(t, ['keys', 'rotat'], env)
    assert.equal(unknown.code, 2)
    assert.match(unknown.stderr, /^Unknown command "keys rotat"\.\n\nUsage:/)
    assert.equal(unknown.stdout, '')
    assert.deepEqual(readdirSync(env['SALLYPORT_DATA_DIR'] ?? ''), [], 'nothing was made')
  })

  test('--version prints the version', async (t) => {
    const { code, stdout } = await runServer(t, ['--version'], await settingsFor(t, 'sqlite'))
    assert.equal(code, 0)
    assert.match(stdout, /^sallyport-server \d+\.\d+\.\d+\n$/)
  })

  test('only serve creates a data directory; other commands report that there is none', async (t) => {
    const help = await runServer(t, ['--help'], await settingsFor(t, 'sqlite'))
    const listed = [...help.stdout.matchAll(/^ {2}sallyport-server ((?:[a-z0-9-]+ )+)/gm)].map(([, words = '']) =>
      words.trim(),
    )
    assert.deepEqual(listed.toSorted(), ['serve', ...Object.keys(exitCodes)].toSorted())
    const empty = await temporaryPostgres(t)
    for (const [words, expected] of Object.entries(exitCodes)) {
      const places = {
        'No database at': await settingsFor(t, 'sqlite'),
        'The database is empty': await settingsFor(t, 'postgres', { DATABASE_URL: empty }),
      }
      for (const [sentence, env] of Object.entries(places)) {
        const { code, stdout, stderr } = await runServer(t, words.split(' '), env)
        assert.equal(code, expected, `${words}: ${stdout}${stderr}`)
        assert.doesNotMatch(stdout + stderr, /^\s+at /m, words)
        if (code === 1) assert.ok(stderr.includes(sentence), `${words}: ${stderr}`)
        assert.deepEqual(readdirSync(env['SALLYPORT_DATA_DIR'] ?? ''), [], `${words} made something`)
      }
    }
  })

  test('a command whose output pipe closes exits quietly', async (t) => {
    const command = spawnServer(t, ['config'], await settingsFor(t, 'sqlite'))
    command.child.stdout?.destroy()
    assert.deepEqual(await command.exit, { code: 0, signal: null })
    assert.equal(command.stderr(), '')
  })

  test('config shows every setting and never a secret', async (t) => {
    const secrets = {
      DATABASE_URL: 'postgres://sallyport:hunter2-hunter2@127.0.0.1:5432/sallyport',
      SALLYPORT_ADMIN_TOKEN: randomBytes(24).toString('hex'),
      SALLYPORT_MASTER_KEY: randomBytes(32).toString('base64'),
    }
    const env = await settingsFor(t, 'sqlite', { ...secrets, SALLYPORT_BODY_BYTES: '2048', SALLYPORT_BODI_BYTES: '1' })
    const { code, stdout, stderr } = await runServer(t, ['config'], env)
    assert.equal(code, 0)
    assert.match(stdout, /^SALLYPORT_BODY_BYTES\s+2048 {2}\(default 262144\)$/m)
    assert.match(stdout, /^SALLYPORT_STOP_SECONDS\s+10 {2}\(default\)$/m)
    for (const [name, value] of Object.entries(secrets)) {
      assert.match(stdout, new RegExp(`^${name}\\s+\\[REDACTED\\] from ${name} `, 'm'))
      assert.ok(!`${stdout}${stderr}`.includes(value), name)
    }
    assert.ok(!`${stdout}${stderr}`.includes('hunter2'))
    assert.equal(stderr, 'Unknown setting: SALLYPORT_BODI_BYTES. Is it misspelled?\n')
  })

  test('config names invalid settings and exits with 1', async (t) => {
    const masterKey = randomBytes(20).toString('base64')
    const env = await settingsFor(t, 'sqlite', { PORT: 'http', SALLYPORT_LOG_FORMAT: 'xml' })
    const { code, stdout, stderr } = await runServer(t, ['config'], env)
    assert.equal(code, 1)
    assert.match(stdout, /^PORT\s+http/m)
    assert.match(stderr, /^Invalid: PORT: got "http"; expected a whole number from 1 to 65535\.$/m)
    assert.match(stderr, /^Invalid: SALLYPORT_LOG_FORMAT: got "xml"; expected one of auto, json, text\.$/m)
    const secret = await runServer(t, ['config'], await settingsFor(t, 'sqlite', { SALLYPORT_MASTER_KEY: masterKey }))
    assert.equal(secret.code, 1)
    assert.match(secret.stderr, /^Invalid: SALLYPORT_MASTER_KEY must be 32 bytes/m)
    assert.ok(!`${secret.stdout}${secret.stderr}`.includes(masterKey))
  })
})

describe('doctor', { concurrency: 2 }, () => {
  test('reports a running service as healthy, and no problems before the first start', async (t) => {
    const fresh = await settingsFor(t, 'sqlite')
    const before = await runServer(t, ['doctor'], {
      ...fresh,
      SALLYPORT_DATA_DIR: join(fresh['SALLYPORT_DATA_DIR'] ?? '', 'new'),
    })
    assert.equal(before.code, 0, before.stdout)
    assert.match(before.stdout, /✓ database\s+.* does not exist yet; the first start creates it/)
    assert.ok(!existsSync(join(fresh['SALLYPORT_DATA_DIR'] ?? '', 'new')))

    for (const engine of ['sqlite', 'postgres'] as const) {
      const service = await startService(t, engine)
      const { code, stdout } = await runServer(t, ['doctor'], service.env)
      assert.equal(code, 0, stdout)
      for (const what of [
        'settings',
        'base URL',
        'TLS',
        'database',
        'writing',
        'clock',
        'master key',
        'push',
        'legacy v1',
      ]) {
        assert.match(stdout, new RegExp(`^✓ ${what} `, 'm'))
      }
      assert.match(stdout, /^✓ legacy v1\s+warning: anyone can register, .* SALLYPORT_V1_BINDING=required/m)
    }
  })

  test('warns that a relay can mix v1 envelopes unless binding is required', async (t) => {
    const open = await settingsFor(t, 'sqlite', { SALLYPORT_V1_READ: 'recipient' })
    assert.match((await runServer(t, ['doctor'], open)).stdout, /its own key \(SALLYPORT_V1_READ\)/)
    const bound = { ...open, SALLYPORT_V1_BINDING: 'required' }
    assert.match(
      (await runServer(t, ['doctor'], bound)).stdout,
      /^✓ legacy v1\s+envelopes are bound, or registration is closed$/m,
    )
  })

  test('says how to restrict a data directory that others can read', async (t) => {
    const service = await startService(t, 'sqlite')
    const key = join(service.dataDir, 'master-key')
    chmodSync(service.dataDir, 0o755)
    chmodSync(key, 0o640)
    const { code, stdout } = await runServer(t, ['doctor'], service.env)
    assert.equal(code, 1)
    assert.ok(
      stdout.includes(`✗ data directory  other users can read it: chmod 700 ${service.dataDir} && chmod 600 ${key}\n`),
      stdout,
    )
    execFileSync('sh', ['-c', /other users can read it: (.*)/.exec(stdout)?.[1] ?? 'false'])
    assert.equal((await runServer(t, ['doctor'], service.env)).code, 0, 'what it told has helped')
  })

  test('reports a wrong master key and an unknown setting', async (t) => {
    const service = await startService(t, 'sqlite')
    const wrong = randomBytes(32).toString('base64url')
    const settings = { ...service.env, SALLYPORT_MASTER_KEY: wrong, SALLYPORT_HOST: '127.0.0.1' }
    const { code, stdout } = await runServer(t, ['doctor'], settings)
    assert.equal(code, 1)
    assert.match(stdout, /^✗ master key\s+The master key does not match .*new,old/m)
    assert.match(stdout, /^✗ settings\s+unknown: SALLYPORT_HOST\./m)
    assert.match(stdout, /^✓ database /m)
    assert.ok(!stdout.includes(wrong))
  })

  test('reports a database that is down, without its password', async (t) => {
    const url = `postgres://sallyport:hunter2-hunter2@127.0.0.1:${await freePort()}/sallyport`
    const { code, stdout, stderr } = await runServer(
      t,
      ['doctor'],
      await settingsFor(t, 'postgres', { DATABASE_URL: url }),
    )
    assert.equal(code, 1)
    assert.match(stdout, /^✗ database\s+The database cannot be used: .*ECONNREFUSED/m)
    assert.ok(!`${stdout}${stderr}`.includes('hunter2'))
  })

  test('reports a read-only database', async (t) => {
    const service = await startService(t, 'postgres')
    await service.stop()
    const { DATABASE_URL: url = '' } = service.env
    const database = new pg.Client({ connectionString: url })
    await database.connect()
    const name = new URL(url).pathname.slice(1)
    await database.query(`alter database "${name}" set default_transaction_read_only = on`)
    await database.end()
    const { code, stdout } = await runServer(t, ['doctor'], service.env)
    assert.equal(code, 1)
    assert.match(stdout, /^✗ writing\s+the database is not writable: .*read-only.* Connect to the primary\.$/m)
    assert.match(stdout, /^✓ clock\s+\d+ ms (?:ahead of|behind) the database's$/m)
  })

  test('reports a certificate that expired, names another host or has another key', async (t) => {
    const folder = dataFolder(t)
    const good = makeCertificate(folder, 'sallyport.test', 30)
    const cases: [object, RegExp, number][] = [
      [good, /^✓ TLS .*valid to/m, 0],
      [makeCertificate(folder, 'sallyport.test', 7), /^✓ TLS +warning: .*valid to .*\. Renew it, then send SIGHUP/m, 0],
      [makeCertificate(folder, 'sallyport.test', -1), /^✗ TLS .*it expired on/m, 1],
      [makeCertificate(folder, 'other.test', 30), /^✗ TLS .*it is not valid for sallyport\.test/m, 1],
      [
        { ...good, SALLYPORT_TLS_KEY_FILE: join(folder, 'other.test30.key') },
        /^✗ TLS .*the private key does not match it/m,
        1,
      ],
      [{ ...good, SALLYPORT_TLS_KEY_FILE: join(folder, 'gone') }, /^✗ TLS .*cannot be used: ENOENT/m, 1],
    ]
    for (const [tls, words, exit] of cases) {
      const env = await settingsFor(t, 'sqlite', { ...tls, SALLYPORT_BASE_URL: 'https://sallyport.test' })
      const { code, stdout } = await runServer(t, ['doctor'], env)
      assert.match(stdout, words)
      assert.equal(code, exit, stdout)
    }
  })
})

test('https is served directly, with a Secure cookie and HSTS', async (t) => {
  const tls = makeCertificate(dataFolder(t), 'sallyport.test', 30)
  const service = await startService(t, 'sqlite', { ...tls, SALLYPORT_BASE_URL: 'https://sallyport.test' })
  const issued = await service.call('POST', '/v4/auth/login-tokens', { token: service.adminToken })
  const { login_token } = issued.body
  const { status, headers } = await service.call('POST', '/v4/auth/login', { body: { login_token } })
  assert.equal(status, 200)
  assert.match(
    headers['set-cookie']?.[0] ?? '',
    /^svc_session=\S+; Max-Age=604800; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
  )
  assert.equal(headers['strict-transport-security'], 'max-age=31536000; includeSubDomains')
  const { token } = await service.register()
  const { echo_url, example } = (await service.call('POST', '/v4/sandbox/start', { token })).body
  assert.equal(echo_url, 'https://sallyport.test/v4/sandbox/echo')
  assert.equal((await service.call('POST', '/v4/proxy', { token, body: example.body })).status, 200)
  assert.deepEqual(await service.stop(), { code: 0, signal: null })
})

test('metrics on a separate port need no token, and are served nowhere else', async (t) => {
  const port = await freePort()
  const service = await startService(t, 'sqlite', { SALLYPORT_METRICS_PORT: String(port) })
  const own = await fetch(`http://127.0.0.1:${port}/metrics`)
  assert.equal(own.status, 200)
  assert.match(await own.text(), /sallyport_http_request_duration_seconds/)
  assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 404)
  const usual = await service.call('GET', '/metrics', { token: service.adminToken })
  assert.deepEqual([usual.status, usual.body.error.code], [404, 'not_found'])
})

test('metrics on a separate port accept only the metrics token, if there is one', async (t) => {
  const port = await freePort()
  const token = 'a-metrics-token-of-32-or-more-characters'
  const settings = { SALLYPORT_METRICS_PORT: String(port), SALLYPORT_METRICS_TOKEN: token }
  const { adminToken } = await startService(t, 'sqlite', settings)
  const ask = async (authorization?: string) => {
    const headers = authorization === undefined ? {} : { authorization }
    return (await fetch(`http://127.0.0.1:${port}/metrics`, { headers })).status
  }
  assert.equal(await ask(`Bearer ${token}`), 200)
  for (const wrong of [undefined, `Bearer ${token}x`, `Basic ${token}`, `Bearer ${adminToken}`, 'Bearer ']) {
    assert.equal(await ask(wrong), 401, wrong)
  }
})
