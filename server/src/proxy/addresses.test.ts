/** Egress has its own tests; these test its rules through the whole pipeline. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { startCalling, startUpstream } from '../../testkit/calling.ts'
import type { Calling } from '../../testkit/calling.ts'
import { sharedAuthority } from '../../testkit/certificates.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { leadingTo } from '../../testkit/egress.ts'
import { startNameServer } from '../../testkit/name-server.ts'
import type { Engine } from '../platform/database/database.ts'
import { createResolver } from '../platform/egress/resolver.ts'
import type { Lookup } from '../platform/egress/resolver.ts'

/** One disallowed address of each kind: loopback, private, cloud metadata, tunnels, IPv4-mapped. */
const forbidden = [
  ...['0.0.0.0', '0.0.0.1', '127.0.0.1', '127.1.2.3', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.0.1'],
  ...['100.64.0.1', '100.100.100.200', '169.254.0.1', '169.254.169.254', '169.254.170.2', '192.0.0.192', '192.0.2.1'],
  ...['192.88.99.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
  ...['168.63.129.16', '::', '::1', '::7f00:1', '::127.0.0.1', '64:ff9b::7f00:1', '64:ff9b:1::1', '100::1'],
  ...[
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    '2002:7f00:1::',
    '2001::1',
    '2001:db8::1',
    '3fff::1',
  ],
  ...['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::ffff:a9fe:a9fe', '::ffff:168.63.129.16'],
]

/** The provider's host is a public name, on the port where something of ours listens on loopback. */
async function startNamed(t: Parameters<typeof startCalling>[0], engine: Engine, lookup: Lookup) {
  const target = await startUpstream(t)
  const host = `api.example.com:${target.port}`
  const calling = await startCalling(t, engine, {
    lookup,
    provider: { api_hosts: [host] },
    terms: { allowedHosts: [host] },
    // Another name is listed: the exception for listed names does not apply to this one.
    settings: { SALLYPORT_EGRESS_ALLOW: `internal.example.com:${target.port}` },
  })
  return { calling, target, url: `https://${host}/things` }
}

function assertNotAllowed({ status, body }: Awaited<ReturnType<Calling['proxy']>>, what: string): void {
  assert.deepEqual([status, body.error?.code], [403, 'address_not_allowed'], what)
}

onBothDatabases('a call by a name', (engine) => {
  test('that resolves to a disallowed address is refused before connecting', async (t) => {
    const answers = forbidden.map((address) => [address])
    const { calling, target, url } = await startNamed(t, engine, leadingTo(...answers))
    for (const address of forbidden) assertNotAllowed(await calling.proxy({ url }), address)
    assert.equal(target.connections(), 0)
    const outcomes = (await calling.records()).filter(({ event }) => event === 'proxy.outcome')
    assert.equal(outcomes.length, forbidden.length)
    assert.ok(outcomes.every(({ detail }) => detail.code === 'address_not_allowed'))
  })

  test('is refused if only one of its addresses is disallowed, streamed or not', async (t) => {
    const { calling, target, url } = await startNamed(t, engine, leadingTo(['8.8.8.8', '127.0.0.1']))
    for (const stream of [false, true]) assertNotAllowed(await calling.proxy({ url, stream }), String(stream))
    assert.equal(target.connections(), 0)
  })

  test('that first resolves to a public and then to a private address is refused', async (t) => {
    const lookup = leadingTo(['8.8.8.8'], ['127.0.0.1'])
    const { calling, target, url } = await startNamed(t, engine, lookup)
    // Each connection does its own lookup and uses the address that it checked.
    await calling.service.egress.judgeName(new URL(url), 'operator', 'url')
    assertNotAllowed(await calling.proxy({ url }), 'the second answer counts')
    assert.equal(lookup.asked.length, 2)
    assert.equal(target.connections(), 0)
  })

  test('whose name servers are silent waits for a share of the look-ups, while others go on', async (t) => {
    const target = await startUpstream(t)
    const silent = Array.from({ length: 60 }, (_, index) => `silent-${index}.example.com`)
    const names = Object.fromEntries(silent.map((name) => [name, 'silent' as const]))
    const { address } = await startNameServer(t, { ...names, 'api.example.com': ['127.0.0.1'] })
    const { port } = target
    const { service, proxy, records } = await startCalling(t, engine, {
      lookup: createResolver({ servers: [address], timeoutMs: 1_000, bounds: { perAsker: 8, maxWaitMs: 200 } }),
      provider: { api_hosts: [`*.example.com:${port}`] },
      terms: { allowedHosts: [`*.example.com:${port}`] },
      settings: { SALLYPORT_EGRESS_ALLOW: '127.0.0.1', SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT: '0' },
    })
    const calls = Promise.all(silent.map((name) => proxy({ url: `https://${name}:${port}/` })))
    await setImmediate()
    const url = new URL(`https://api.example.com:${port}/`)
    const common = { method: 'GET', headers: [], body: undefined, suppliedBy: 'operator' as const }
    assert.equal((await service.egress.collect({ ...common, url, pool: 'another account' })).status, 200)
    const refused = (await calls).filter(({ status }) => status === 503)
    assert.equal(refused.length, silent.length - 8)
    for (const { body, headers } of refused) {
      assert.deepEqual([body.error.code, body.error.retryable, headers['retry-after']], ['busy', true, '5'])
    }
    const outcomes = (await records()).filter(({ event }) => event === 'proxy.outcome')
    assert.equal(outcomes.length, silent.length)
    assert.equal(outcomes.filter(({ detail }) => detail.code === 'busy').length, refused.length)
    assert.equal((await proxy({ url: url.href })).status, 200)
  })

  test('that the operator listed may be private, and its certificate must be valid', async (t) => {
    const target = await startUpstream(t)
    const host = `api.example.com:${target.port}`
    const stranger = `api.example.net:${target.port}`
    const calling = await startCalling(t, engine, {
      lookup: leadingTo(['127.0.0.1']),
      provider: { api_hosts: [host, stranger] },
      terms: { allowedHosts: [host, stranger] },
      settings: {
        SALLYPORT_EGRESS_ALLOW: `${host},${stranger}`,
        SALLYPORT_EGRESS_CA_FILE: (await sharedAuthority()).caFile,
      },
    })
    assert.equal((await calling.proxy({ url: `https://${host}/things` })).status, 200)
    const { status, body } = await calling.proxy({ url: `https://${stranger}/things` })
    assert.deepEqual([status, body.error.code], [502, 'upstream_tls_error'])
    assert.equal(target.received.length, 1)
  })

  test('that does not resolve, or where no server listens, is unreachable', async (t) => {
    const { calling, url } = await startNamed(t, engine, () => Promise.reject(new Error('no such name')))
    const { status, body } = await calling.proxy({ url })
    assert.deepEqual([status, body.error.code], [502, 'upstream_unreachable'])
  })
})
