import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Grant } from '@sallyport/sdk'
import { sharedAuthority } from '../../../server/testkit/certificates.ts'
import { temporaryFolder } from '../../../server/testkit/databases.ts'
import { applied, runEnvironment } from './environment.ts'
import type { RunFacts } from './environment.ts'
import { readsProxies } from './node-version.ts'
import { writeTrust } from './trust.ts'

function grant(id: string, hosts: string[], provider = 'github'): Grant {
  return { grant_id: `grt_${id}`, allowed_hosts: hosts, provider } as Grant
}

const [first, second] = [grant('1', ['api.github.com', 'github.com']), grant('2', ['api.github.com'])]
const github = { slug: 'github', env: ['GH_TOKEN', 'GITHUB_TOKEN'], grants: [first], isNamed: false }
const facts: RunFacts = {
  proxyUrl: 'http://run:credential@127.0.0.1:4000',
  otherHosts: 'allow',
  trust: {
    variables: { SSL_CERT_FILE: '/run/certificates-1.pem' },
    javaTrustStore: '/run/certificates.jks',
    unread: [],
  },
  javaPort: 4001,
  ghConfigFolder: '/run/gh',
  grants: [first],
  providers: [github],
}

describe('the environment of a run', () => {
  test('leads https to the listener, and http only if other hosts are denied', () => {
    const { set } = runEnvironment({}, facts)
    for (const name of ['HTTPS_PROXY', 'https_proxy']) assert.equal(set[name], facts.proxyUrl)
    for (const name of ['NO_PROXY', 'no_proxy']) assert.equal(set[name], 'localhost,127.0.0.1,::1')
    assert.deepEqual([set['HTTP_PROXY'], set['http_proxy'], set['NODE_USE_ENV_PROXY']], [undefined, undefined, '1'])
    const denying = runEnvironment({}, { ...facts, otherHosts: 'deny' }).set
    assert.deepEqual([denying['HTTP_PROXY'], denying['http_proxy']], [facts.proxyUrl, facts.proxyUrl])
    assert.match(denying['JAVA_TOOL_OPTIONS'] ?? '', /-Dhttp\.proxyPort=4001/)
    assert.doesNotMatch(set['JAVA_TOOL_OPTIONS'] ?? '', /-Dhttp\.proxyPort/)
  })

  test('leads to a granted API on this machine too', () => {
    const { set } = runEnvironment(
      {},
      { ...facts, grants: [grant('1', ['localhost:8790']), grant('2', ['[::1]:9000'])] },
    )
    assert.equal(set['NO_PROXY'], '127.0.0.1')
    assert.match(set['JAVA_TOOL_OPTIONS'] ?? '', /-Dhttp\.nonProxyHosts=127\.0\.0\.1$/)
  })

  test('takes away what is secret, leads past the listener or turns verification off, and names it', () => {
    const env = {
      PATH: '/bin',
      SALLYPORT_AGENT_TOKEN: 'sp_agent_1',
      SALLYPORT_URL: 'https://sallyport.example',
      all_proxy: 'socks5://elsewhere',
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
      npm_config_strict_ssl: 'false',
      npm_config_https_proxy: '',
      GIT_SSL_NO_VERIFY: '1',
      GH_TOKEN: 'ghp_real',
      HTTP_PROXY: 'http://corporate:3128',
    }
    const environment = runEnvironment(env, facts)
    assert.deepEqual(environment.removed.sort(), [
      ...['GIT_SSL_NO_VERIFY', 'NODE_TLS_REJECT_UNAUTHORIZED', 'SALLYPORT_AGENT_TOKEN', 'SALLYPORT_URL', 'all_proxy'],
      ...['npm_config_https_proxy', 'npm_config_strict_ssl'],
    ])
    assert.deepEqual(environment.replaced, ['GH_TOKEN'])
    const whole = applied(env, environment)
    assert.deepEqual(
      [whole['PATH'], whole['GH_TOKEN'], whole['HTTP_PROXY']],
      ['/bin', 'sp_grant_grt_1', 'http://corporate:3128'],
    )
    assert.ok(environment.removed.every((name) => !(name in whole)))
  })

  test('has placeholders in the shapes that tools insist on', () => {
    const of = (slug: string, env: string[], more: object = {}) => ({
      slug,
      env,
      grants: [grant('9', ['h'])],
      isNamed: false,
      ...more,
    })
    const providers = [
      of('stripe', ['STRIPE_API_KEY']),
      of('hetzner', ['HCLOUD_TOKEN']),
      of('openai', ['OPENAI_API_KEY']),
      of('anthropic', ['ANTHROPIC_API_KEY'], { isNamed: true }),
      of('aws', ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN']),
      of('github', ['GH_TOKEN'], { grants: [first, second] }),
    ]
    const env = { OPENAI_API_KEY: 'sk-own', AWS_PROFILE: 'work', AWS_SESSION_TOKEN: 'real' }
    const { set, removed, replaced } = runEnvironment(env, { ...facts, providers })
    assert.equal(set['STRIPE_API_KEY'], 'sk_test_sp_grant_grt_9')
    assert.match(set['HCLOUD_TOKEN'] ?? '', /^_{50}sp_grant_grt_9$/)
    assert.equal(set['ANTHROPIC_API_KEY'], 'sp_grant_grt_9')
    assert.equal(set['OPENAI_API_KEY'], undefined, 'it would change who pays')
    assert.deepEqual([set['AWS_ACCESS_KEY_ID'], set['AWS_SECRET_ACCESS_KEY']], ['sp_grant_grt_9', 'sp_grant_grt_9'])
    assert.equal(set['GH_TOKEN'], 'sp_grant_any', 'the service chooses among several')
    assert.deepEqual([removed.sort(), replaced], [['AWS_PROFILE', 'AWS_SESSION_TOKEN'], []])
  })

  test('gives git a header for granted hosts, and keeps its own configuration', (t) => {
    const env = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'user.name', GIT_CONFIG_VALUE_0: 'Ada' }
    const whole = applied(
      { ...env, PATH: process.env['PATH'] },
      runEnvironment(env, { ...facts, grants: [first, grant('3', ['git.acme.example:8443', '*.acme.example'])] }),
    )
    const cwd = temporaryFolder(t)
    const git = (...words: string[]) =>
      execFileSync('git', words, { env: { ...whole, HOME: cwd }, cwd, encoding: 'utf8' })
    assert.equal(git('config', 'user.name'), 'Ada\n')
    const header = git('config', '--get-urlmatch', 'http.extraHeader', 'https://github.com/ada/notes')
    const [, basic = ''] = /^Authorization: Basic (.*)\n$/.exec(header) ?? []
    assert.equal(Buffer.from(basic, 'base64').toString(), 'x-access-token:sp_grant_grt_1')
    assert.match(git('config', '--get-urlmatch', 'http.extraHeader', 'https://git.acme.example:8443/a'), /Basic/)
    git('init', '-q')
    git('remote', 'add', 'origin', 'git@github.com:ada/notes.git')
    git('remote', 'add', 'other', 'ssh://git@git.acme.example/ada/notes.git')
    assert.match(git('remote', '-v'), /https:\/\/github\.com\/ada\/notes\.git \(push\)/)
    assert.match(git('remote', '-v'), /https:\/\/git\.acme\.example:8443\/ada\/notes\.git/)
  })
})

describe('the certificates of a run', () => {
  test('are those that were set for a tool, or the system’s, and the authority of the gateway', async (t) => {
    const folder = temporaryFolder(t)
    const own = join(folder, 'own.pem')
    writeFileSync(own, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
    const { caPem } = await sharedAuthority()
    const env = {
      CURL_CA_BUNDLE: own,
      NODE_EXTRA_CA_CERTS: own,
      npm_config_cafile: own,
      PIP_CERT: join(folder, 'none'),
    }
    const { variables, unread } = writeTrust(folder, env, caPem)
    const text = (name: string) => readFileSync(variables[name] ?? '', 'utf8')
    for (const name of ['CURL_CA_BUNDLE', 'NODE_EXTRA_CA_CERTS', 'NPM_CONFIG_CAFILE']) {
      assert.ok(text(name).startsWith(readFileSync(own, 'utf8')) && text(name).includes(caPem), name)
    }
    for (const name of ['SSL_CERT_FILE', 'PIP_CERT', 'GIT_SSL_CAINFO', 'AWS_CA_BUNDLE']) {
      assert.ok(text(name).length > 100_000 && text(name).includes(caPem), name)
    }
    assert.equal(text('DENO_CERT'), caPem)
    assert.deepEqual(unread, ['PIP_CERT'])
  })

  test('are named in the settings of wget, beside those that it has', async (t) => {
    const folder = temporaryFolder(t)
    const { caPem } = await sharedAuthority()
    const own = join(folder, 'own.pem')
    writeFileSync(own, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
    const of = (settings: string) => {
      writeFileSync(join(folder, '.wgetrc'), settings)
      const text = readFileSync(writeTrust(folder, { HOME: folder }, caPem).variables['WGETRC'] ?? '', 'utf8')
      assert.ok(text.startsWith(settings))
      return readFileSync(text.trimEnd().split(' = ').at(-1) ?? '', 'utf8')
    }
    const usual = of('tries = 3')
    assert.ok(usual.length > 100_000 && usual.endsWith(caPem))
    assert.equal(of(`ca-certificate=${own}\n`), `${readFileSync(own, 'utf8')}${caPem}`)
  })

  test('are in a store of the format that Java reads', async (t) => {
    const folder = temporaryFolder(t)
    const { caPem } = await sharedAuthority()
    const { javaTrustStore } = writeTrust(folder, {}, caPem)
    assert.equal(readFileSync(javaTrustStore).readUInt32BE(0), 0xfeedfeed)
  })
})

test('Node reads proxies from its environment from 22.21 and 24.5 on', () => {
  const old = ['v20.20.2', 'v22.20.0', 'v23.11.0', 'v24.4.1']
  const recent = ['v22.21.0', 'v24.5.0', 'v25.0.0', 'v24.21.0']
  assert.deepEqual([...old, ...recent].filter(readsProxies), recent)
})
