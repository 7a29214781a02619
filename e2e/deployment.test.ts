/**
 * The files for containers and systemd. No container engine runs here: what they set and start is taken from them, compared
 * with what there is, and run without one.
 */
import assert from 'node:assert/strict'
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { dataFolder, runServer, settingsFor, startService } from './running-service.ts'

const root = resolve(import.meta.dirname, '..')
const textOf = (path: string) => readFileSync(join(root, path), 'utf8')

interface Instruction {
  name: string
  words: string
}

/** Comments dropped, continued lines joined. */
const dockerfile: Instruction[] = textOf('deploy/Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, ' ')
  .split('\n')
  .flatMap((line) => {
    const [, name = '', words = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? []
    return name === '' ? [] : [{ name, words }]
  })
const last = dockerfile.findLastIndex(({ name }) => name === 'FROM')
const finalStage = dockerfile.slice(last)
const wordsOf = (name: string, stage = finalStage) => stage.filter((one) => one.name === name).map(({ words }) => words)
const pairs = wordsOf('ENV')
  .join(' ')
  .split(/\s+/)
  .map((pair) => pair.split('='))
const ofImage = Object.fromEntries(pairs) as Record<string, string>

interface ComposeService {
  image: string
  build?: { context: string; dockerfile: string }
  command?: string[]
  environment: Record<string, string>
  secrets: string[]
  networks: string[]
  volumes?: string[]
  depends_on?: object
  read_only?: boolean
  cap_drop?: string[]
  security_opt: string[]
}
const compose = parse(textOf('deploy/compose.yaml')) as {
  services: Record<'sallyport' | 'tls' | 'database', ComposeService>
  networks: { front: { ipam: { config: { subnet: string }[] } }; back: { internal: boolean } }
  volumes: object
  secrets: Record<string, { file: string }>
}

describe('containers', () => {
  test('the image is built by commands that there are, and has only the release', () => {
    const known = ['FROM', 'WORKDIR', 'COPY', 'RUN', 'ENV', 'USER', 'VOLUME', 'EXPOSE', 'HEALTHCHECK', 'ENTRYPOINT']
    assert.deepEqual(
      dockerfile.filter(({ name }) => !known.includes(name)),
      [],
    )
    const builds = wordsOf('RUN', dockerfile.slice(0, last))
    const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> }
    const called = builds.join('\n').match(/(?<=npm run )\w+/g)
    assert.deepEqual(called, ['release'])
    assert.ok(scripts['release'])
    const ignored = textOf('.dockerignore').trim().split('\n')
    for (const one of ['**/node_modules', '.git', 'deploy/secrets', '**/data']) assert.ok(ignored.includes(one), one)
    assert.deepEqual(wordsOf('COPY'), ['--from=build /opt/sallyport /opt/sallyport'])
    assert.deepEqual(wordsOf('USER'), ['10001:10001'])
    const [entry = ''] = JSON.parse(wordsOf('ENTRYPOINT')[0] ?? '') as string[]
    const release = textOf('scripts/release/release.ts')
    assert.ok(entry.startsWith('/opt/sallyport/') && release.includes(`start('${entry.split('/').at(-1)}'`))
    assert.ok(release.includes(`const home = '/opt/sallyport'`))
  })

  test('all settings exist, and all parts of the composition fit together', async (t) => {
    const { services } = compose
    const { stdout } = await runServer(t, ['config'], { PATH: process.env['PATH'] ?? '' })
    const settings = new Set(stdout.match(/^[A-Z_0-9]+/gm))
    const { PATH: _path, ...image } = ofImage
    for (const name of [...Object.keys(image), ...Object.keys(services.sallyport.environment)]) {
      assert.ok(settings.has(name.replace(/_FILE$/, '')), name)
    }
    for (const { secrets = [], networks, volumes = [], environment = {} } of Object.values(services)) {
      for (const secret of secrets) assert.ok(secret in compose.secrets, secret)
      for (const network of networks) assert.ok(network in compose.networks, network)
      for (const volume of volumes) assert.ok((volume.split(':')[0] ?? '') in compose.volumes, volume)
      for (const [, secret = ''] of Object.values(environment)
        .join(' ')
        .matchAll(/\/run\/secrets\/(\w+)/g)) {
        assert.ok(secrets.includes(secret), secret)
      }
    }
    const { sallyport, tls, database } = services
    assert.deepEqual([sallyport.read_only, sallyport.cap_drop], [true, ['ALL']])
    assert.ok(
      [sallyport, tls, database].every(({ security_opt: options }) => options.includes('no-new-privileges:true')),
    )
    assert.deepEqual([tls.networks, database.networks, compose.networks.back.internal], [['front'], ['back'], true])
    assert.equal(compose.networks.front.ipam.config[0]?.subnet, sallyport.environment['SALLYPORT_TRUST_PROXY'])
    assert.equal(tls.command?.at(-1), `sallyport:${ofImage['PORT'] ?? ''}`)
    assert.ok(existsSync(resolve(root, 'deploy', sallyport.build?.context ?? '', sallyport.build?.dockerfile ?? '')))
  })

  test('the service starts with the settings of both and the secrets that the documentation makes, and is healthy', async (t) => {
    const folder = dataFolder(t)
    mkdirSync(join(folder, 'deploy'))
    const [, commands = ''] = /```sh\n(mkdir -m 0711 deploy\/secrets\n[^]*?)```/.exec(textOf('docs/install.md')) ?? []
    execFileSync('sh', ['-ec', commands], { cwd: folder })
    for (const { file } of Object.values(compose.secrets)) {
      assert.equal(statSync(join(folder, 'deploy', file)).mode & 0o777, 0o400, file)
    }
    const own = await settingsFor(t, 'postgres')
    const url = readFileSync(join(folder, 'deploy/secrets/database_url'), 'utf8')
    assert.match(url, /^postgres:\/\/sallyport:[0-9a-f]{48}@database\/sallyport\n$/)
    const ofTest = join(folder, 'database_url')
    writeFileSync(ofTest, own['DATABASE_URL'] ?? '')
    const given = Object.entries(compose.services.sallyport.environment).map(([name, value]) => [
      name,
      value
        .replace(/\$\{DOMAIN[^}]*\}/, 'sallyport.example.com')
        .replace('/run/secrets/database_url', ofTest)
        .replace('/run/secrets/', join(folder, 'deploy/secrets/')),
    ])
    const settings = { ...ofImage, ...(Object.fromEntries(given) as Record<string, string>) }
    const { PORT: _port, PATH: _path, SALLYPORT_DATA_DIR: _dataDir, ...changes } = settings
    const { DATABASE_URL: _url, SALLYPORT_MASTER_KEY: _key, SALLYPORT_ADMIN_TOKEN: _token, ...rest } = own
    const service = await startService(t, 'sqlite', { ...rest, ...changes })
    const probe = wordsOf('HEALTHCHECK')[0]?.replace(/^.*?CMD /, '') ?? ''
    const [program = '', ...words] = JSON.parse(probe) as string[]
    assert.equal(program, '/opt/sallyport/node/bin/node')
    const isHealthy = (port: number) =>
      promisify(execFile)(
        process.execPath,
        words.map((word) => word.replace(':8787/', `:${port}/`)),
      ).then(
        () => true,
        () => false,
      )
    assert.equal(await isHealthy(service.port), true)
    const { status } = await service.call('GET', '/v4/health', {
      token: readFileSync(join(folder, 'deploy/secrets/admin_token'), 'utf8').trim(),
    })
    assert.equal(status, 200)
    await service.stop()
    assert.equal(await isHealthy(service.port), false)
  })
})

test('systemd accepts the unit, and finds little that it leaves open', async (t) => {
  if (spawnSync('systemd-analyze', ['--version']).status !== 0) {
    t.skip('systemd-analyze is not here')
    return
  }
  const folder = dataFolder(t)
  const { stdout, code, stderr } = await runServer(t, ['systemd-unit'], { PATH: process.env['PATH'] ?? '' })
  if (code !== 0) {
    t.skip(stderr)
    return
  }
  const unit = join(folder, 'sallyport.service')
  writeFileSync(unit, stdout)
  const verified = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' })
  assert.deepEqual([verified.status, verified.stderr], [0, ''])
  const judged = execFileSync('systemd-analyze', ['security', '--offline=true', '--no-pager', unit], {
    encoding: 'utf8',
  })
  const exposure = Number(/exposure level for sallyport\.service: ([\d.]+)/.exec(judged)?.[1])
  assert.ok(exposure <= 2, judged)
})
