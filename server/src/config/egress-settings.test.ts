import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createAuthority } from '../../testkit/certificates.ts'
import { temporaryFolder } from '../../testkit/databases.ts'
import { readConfig } from './config.ts'
import { ConfigError } from '../platform/config/settings.ts'
import { egressProxyOf } from '../platform/egress/egress-settings.ts'

function problemOf(env: Record<string, string>): string {
  try {
    readConfig(env)
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    return error.message
  }
  return assert.fail(`${JSON.stringify(env)} was taken`)
}

test('non-public addresses are refused unless listed', () => {
  const { egressAllow, egressCaFile } = readConfig({})
  assert.deepEqual([egressAllow, egressCaFile], [[], undefined])
})

test('the list takes host:port, addresses and ranges', () => {
  const value = 'IDP.internal:8443, 10.1.2.3:443,[FD00:0::1]:443, 10.0.0.0/8,192.168.7.7,fd00::/8,::1'
  const entries = readConfig({ SALLYPORT_EGRESS_ALLOW: value }).egressAllow.map((entry) =>
    entry.kind === 'place' ? `${entry.host} ${entry.port}` : `IPv${entry.range.address.family} /${entry.range.prefix}`,
  )
  const places = ['idp.internal 8443', '10.1.2.3 443', 'fd00::1 443']
  assert.deepEqual(entries, [...places, 'IPv4 /8', 'IPv4 /32', 'IPv6 /8', 'IPv6 /128'])
})

test('an ambiguous or invalid entry stops the start', () => {
  const hosts = ['idp.internal', 'idp.internal:', 'idp.internal:0', 'idp.internal:65536', 'idp.internal.:443', '*:443']
  const writings = [
    '127.1:443',
    '0x7f000001:443',
    '１０.0.0.1:443',
    'bücher.example:443',
    'a b:443',
    '[::1:443',
    '::1%lo',
  ]
  const urls = ['https://idp.internal:8443', 'idp.internal:8443/path', 'me@idp.internal:8443', 'a:443#x', 'a\\b:443']
  const ranges = ['10.0.0.0/33', '10.0.0.0/08', '10.0.0.0/', '0.0.0.0/0', '::/0', '::ffff:10.0.0.0/104', 'fd00::/129']
  const inside = ['10.1.2.3/8', '10.1.3.0/22', 'fd00::1/64', '192.168.7.7/31']
  for (const entry of [...hosts, ...writings, ...urls, ...ranges, ...inside, '127.0.0.1:443,', ' ']) {
    const problem = problemOf({ SALLYPORT_EGRESS_ALLOW: entry })
    assert.ok(problem.startsWith(`SALLYPORT_EGRESS_ALLOW: got "${entry}"; expected host:port (such as `), problem)
  }
})

test('the CA file is read at the start', async (t) => {
  const folder = temporaryFolder(t)
  const { caFile, caPem } = await createAuthority(folder)
  const twice = join(folder, 'twice.pem')
  writeFileSync(twice, `# two of them\n${caPem}\n# again\n${caPem}`)
  const read = (path: string) =>
    readConfig({ SALLYPORT_EGRESS_ALLOW: '10.0.0.0/8', SALLYPORT_EGRESS_CA_FILE: path }).egressCaFile
  assert.deepEqual(read(caFile), { pem: caPem.trim() })
  assert.equal(read(twice)?.pem.match(/BEGIN/g)?.length, 2)
})

test('a CA file that is unreadable, empty or without a CA stops the start', async (t) => {
  const folder = temporaryFolder(t)
  const { issue } = await createAuthority(folder)
  const { cert, key } = await issue({ names: ['idp.internal'] })
  const contents = { empty: '', key, leaf: cert, cut: '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n' }
  for (const [name, content] of Object.entries(contents)) writeFileSync(join(folder, name), content)
  for (const name of ['missing', '.', ...Object.keys(contents)]) {
    const path = join(folder, name)
    const problem = problemOf({ SALLYPORT_EGRESS_ALLOW: '10.0.0.0/8', SALLYPORT_EGRESS_CA_FILE: path })
    const takes = 'expected the path of a readable PEM file of CA certificates.'
    assert.equal(problem, `SALLYPORT_EGRESS_CA_FILE: got "${path}"; ${takes}`)
  }
})

test('CAs without any allowed address stop the start', async (t) => {
  const { caFile } = await createAuthority(temporaryFolder(t))
  assert.match(
    problemOf({ SALLYPORT_EGRESS_CA_FILE: caFile }),
    /^SALLYPORT_EGRESS_CA_FILE has no effect because SALLYPORT_EGRESS_ALLOW is empty/,
  )
})

test('a proxy is a URL with a host, and what depends on it needs it', () => {
  const proxyOf = (env: Record<string, string>) => egressProxyOf(readConfig(env))
  assert.equal(proxyOf({}), undefined)
  const set = { SALLYPORT_EGRESS_PROXY: 'http://me:word@proxy.internal:3128' }
  assert.deepEqual(
    proxyOf({ ...set, SALLYPORT_EGRESS_PROXY_RESOLVES: '1', SALLYPORT_EGRESS_DIRECT: 'a.internal:443' }),
    {
      ...{ isTls: false, host: 'proxy.internal', port: 3128, authorization: `Basic ${btoa('me:word')}` },
      ...{ resolvesNames: true, direct: [{ kind: 'place', host: 'a.internal', port: 443 }] },
    },
  )
  const wrong = problemOf({ SALLYPORT_EGRESS_PROXY: 'socks5://me:hush@proxy' })
  assert.match(wrong, /^SALLYPORT_EGRESS_PROXY must be an http or https URL/)
  assert.ok(!wrong.includes('hush'))
  assert.match(problemOf({ SALLYPORT_EGRESS_DIRECT: '10.0.0.0/8' }), /^SALLYPORT_EGRESS_DIRECT has no effect/)
  assert.match(problemOf({ SALLYPORT_EGRESS_PROXY_RESOLVES: '1' }), /^SALLYPORT_EGRESS_PROXY_RESOLVES has no effect/)
})
