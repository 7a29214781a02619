/** Attacks through DNS and URLs. Real sockets count the connections. */
import assert from 'node:assert/strict'
import { createHook } from 'node:async_hooks'
import type { RequestListener } from 'node:http'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { sharedAuthority } from '../../../testkit/certificates.ts'
import { leadingTo, testEgress } from '../../../testkit/egress.ts'
import { freePort } from '../../../testkit/ports.ts'
import { startTlsUpstream } from '../../../testkit/tls-upstream.ts'
import type { Egress } from './egress.ts'
import type { Lookup } from './resolver.ts'
import type { SuppliedBy } from './destinations.ts'

const authority = await sharedAuthority()
const certificate = await authority.issue({ names: ['api.example'], addresses: ['127.0.0.1', '127.0.0.2'] })

function egressFor(t: TestContext, allow: string[], lookup: Lookup): Egress {
  return testEgress(t, { allow, caPem: authority.caPem, lookup })
}

const never: Lookup = () => Promise.reject(new Error('a name was looked up'))

/** Counts the TCP connections that this process tries to open, to any address. */
function countAttempts(t: TestContext): () => number {
  let attempts = 0
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'TCPCONNECTWRAP') attempts++
    },
  }).enable()
  t.after(() => hook.disable())
  return () => attempts
}

const bodyOf = async (egress: Egress, suppliedBy: SuppliedBy, url: string) =>
  (await egress.fetch(suppliedBy)(url)).text()

test('a name that resolves to a private address is refused before connecting', async (t) => {
  const upstream = await startTlsUpstream(t, certificate)
  const attempts = countAttempts(t)
  for (const address of [
    '127.0.0.1',
    '::1',
    '::ffff:127.0.0.1',
    '169.254.169.254',
    '10.0.0.1',
    'fe80::1%eth0',
    'junk',
  ]) {
    const egress = egressFor(t, [], leadingTo([address]))
    const port = upstream.port
    await assert.rejects(bodyOf(egress, 'operator', `https://api.example:${port}/`), { code: 'address_not_allowed' })
    await assert.rejects(bodyOf(egress, 'stranger', 'https://api.example/'), { code: 'address_not_allowed' })
  }
  assert.equal(upstream.connections(), 0)
  assert.equal(attempts(), 0)
  // Check the counter itself: an allowed connection is counted.
  const allowed = egressFor(t, ['127.0.0.1'], leadingTo(['127.0.0.1']))
  assert.equal(await bodyOf(allowed, 'operator', `https://api.example:${upstream.port}/`), 'hello')
  assert.equal(attempts(), 1)
})

test('one private address among public ones refuses the whole name', async (t) => {
  const attempts = countAttempts(t)
  for (const answer of [
    ['93.184.216.34', '10.0.0.1'],
    ['10.0.0.1', '93.184.216.34'],
    ['2606:4700::1111', '::1', '1.1.1.1'],
  ]) {
    for (const who of ['operator', 'stranger'] as const) {
      const egress = egressFor(t, ['127.0.0.1'], leadingTo(answer))
      await assert.rejects(bodyOf(egress, who, 'https://api.example/'), { code: 'address_not_allowed' })
    }
  }
  assert.equal(attempts(), 0)
})

test('DNS rebinding: the checked address is the one connected to, after a single lookup', async (t) => {
  const judged = await startTlsUpstream(t, certificate, undefined, { address: '127.0.0.2', port: await freePort() })
  const target = await startTlsUpstream(t, certificate, undefined, { port: judged.port })
  const lookup = leadingTo(['127.0.0.2'], ['127.0.0.1'])
  const egress = egressFor(t, ['127.0.0.2/32'], lookup)
  assert.equal(await bodyOf(egress, 'operator', `https://api.example:${judged.port}/`), 'hello')
  assert.deepEqual([judged.connections(), target.connections()], [1, 0])
  assert.deepEqual(lookup.asked, ['api.example'])
})

test('DNS rebinding between two connections: every lookup is checked', async (t) => {
  const closing: RequestListener = (_request, response) => {
    response.writeHead(200, { connection: 'close' }).end()
  }
  const judged = await startTlsUpstream(t, certificate, closing, { address: '127.0.0.2', port: await freePort() })
  const target = await startTlsUpstream(t, certificate, undefined, { port: judged.port })
  const egress = egressFor(t, ['127.0.0.2/32'], leadingTo(['127.0.0.2'], ['127.0.0.1']))
  const url = `https://api.example:${judged.port}/`
  await bodyOf(egress, 'operator', url)
  await assert.rejects(bodyOf(egress, 'operator', url), { code: 'address_not_allowed' })
  assert.deepEqual([judged.connections(), target.connections()], [1, 0])
})

test('a socket connected to another address than the checked one is closed before TLS', async (t) => {
  const upstream = await startTlsUpstream(t, certificate)
  // 0.0.0.0 means every address of this machine, so the socket ends up at another one.
  const egress = egressFor(t, [`api.example:${upstream.port}`], leadingTo(['0.0.0.0']))
  const call = bodyOf(egress, 'operator', `https://api.example:${upstream.port}/`)
  await assert.rejects(call, { code: 'address_not_allowed', detail: 'api.example: another address answered' })
  await upstream.allClosed()
  assert.deepEqual(upstream.requests, [])
})

test('an IP address in the URL is checked too, without a DNS lookup', async (t) => {
  const upstream = await startTlsUpstream(t, certificate)
  const attempts = countAttempts(t)
  const egress = egressFor(t, ['127.0.0.2'], never)
  for (const host of ['127.0.0.1', '127.1', '0x7f000001', '2130706433', '[::ffff:127.0.0.1]', '0.0.0.0', '[::1]']) {
    const call = bodyOf(egress, 'operator', `https://${host}:${upstream.port}/`)
    await assert.rejects(call, { code: 'address_not_allowed' }, host)
  }
  assert.equal(attempts(), 0)
  const listed = egressFor(t, ['127.0.0.1'], never)
  assert.equal(await bodyOf(listed, 'operator', `https://127.0.0.1:${upstream.port}/`), 'hello')
})

test('a redirect to a private address is returned, not followed', async (t) => {
  const target = await startTlsUpstream(t, certificate, undefined, { address: '127.0.0.2' })
  for (const status of [301, 302, 303, 307, 308]) {
    const location = `https://127.0.0.2:${target.port}/secret`
    const upstream = await startTlsUpstream(t, certificate, (_request, response) => {
      response.writeHead(status, { location }).end('moved')
    })
    const egress = egressFor(t, ['127.0.0.0/8'], leadingTo(['127.0.0.1']))
    const url = `https://api.example:${upstream.port}/`
    const fetched = await egress.fetch('operator')(url, { redirect: 'follow' })
    assert.deepEqual([fetched.status, fetched.headers.get('location')], [status, location])
    const answer = await egress.request({
      ...{ url: new URL(url), method: 'GET', headers: [], body: undefined, suppliedBy: 'operator' },
    })
    assert.equal(answer.status, status)
    for await (const chunk of answer.body) assert.equal(Buffer.from(chunk).toString(), 'moved')
  }
  assert.equal(target.connections(), 0)
})

test("an allowed address range applies to the operator's URLs, not to strangers'", async (t) => {
  const upstream = await startTlsUpstream(t, certificate)
  const ranges = egressFor(t, ['127.0.0.0/8'], leadingTo(['127.0.0.1']))
  const attempts = countAttempts(t)
  const { port } = upstream
  for (const url of ['https://api.example/', 'https://127.0.0.1/', `https://api.example:${port}/`]) {
    await assert.rejects(bodyOf(ranges, 'stranger', url), { code: 'address_not_allowed' })
  }
  assert.equal(attempts(), 0)
  assert.equal(await bodyOf(ranges, 'operator', `https://api.example:${port}/`), 'hello')
  const place = egressFor(t, [`api.example:${port}`], leadingTo(['127.0.0.1']))
  assert.equal(await bodyOf(place, 'stranger', `https://api.example:${port}/`), 'hello')
  await assert.rejects(bodyOf(place, 'operator', `https://other.example:${port}/`), { code: 'address_not_allowed' })
})

test('the error for a private address does not reveal whether it is in use', async (t) => {
  const egress = egressFor(t, [], leadingTo(['127.0.0.1'], ['127.0.0.77'], ['10.255.255.1']))
  const told = new Set<string>()
  for (let times = 0; times < 3; times++) {
    await bodyOf(egress, 'stranger', 'https://api.example/').catch((error: unknown) => {
      const { code, publicMessage, field } = error as Record<string, string>
      told.add(JSON.stringify([code, publicMessage, field]))
    })
  }
  assert.deepEqual([...told], ['["address_not_allowed",null,null]'])
})

test("a stranger's call never reuses a socket opened for the operator", async (t) => {
  const upstream = await startTlsUpstream(t, certificate)
  const egress = egressFor(t, [`api.example:${upstream.port}`], leadingTo(['127.0.0.1']))
  const url = `https://api.example:${upstream.port}/`
  const call = (who: SuppliedBy) => bodyOf(egress, who, url)
  for (let times = 0; times < 4; times++) await call('operator')
  const opened = upstream.connections()
  assert.ok(opened < 4, 'sockets are used again')
  await call('stranger')
  assert.equal(upstream.connections(), opened + 1)
  await call('operator')
  assert.equal(upstream.connections(), opened + 1)
})

test('a host header changes neither the host nor the expected certificate', async (t) => {
  const seen: (string | undefined)[] = []
  const upstream = await startTlsUpstream(t, certificate, (request, response) => {
    seen.push(request.headers.host)
    response.end()
  })
  const egress = egressFor(t, ['127.0.0.1'], leadingTo(['127.0.0.1']))
  const headers = { host: 'other.example', Host: 'third.example' }
  assert.equal((await egress.fetch('operator')(`https://api.example:${upstream.port}/`, { headers })).status, 200)
  assert.deepEqual(seen, [`api.example:${upstream.port}`])
})

test('proxy environment variables are ignored', async (t) => {
  const proxy = await startTlsUpstream(t, certificate)
  const upstream = await startTlsUpstream(t, certificate)
  for (const name of ['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY']) {
    process.env[name] = `http://127.0.0.1:${proxy.port}`
    t.after(() => Reflect.deleteProperty(process.env, name))
  }
  const egress = egressFor(t, ['127.0.0.1'], leadingTo(['127.0.0.1']))
  assert.equal(await bodyOf(egress, 'operator', `https://api.example:${upstream.port}/`), 'hello')
  assert.equal(proxy.connections(), 0)
})

test('a name that cannot be resolved or has no addresses is unreachable', async (t) => {
  const failing: Lookup = () => Promise.reject(Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' }))
  const missing = egressFor(t, [], failing)
  await assert.rejects(bodyOf(missing, 'stranger', 'https://api.example/?token=hush'), {
    code: 'upstream_unreachable',
    detail: 'api.example: ENOTFOUND',
  })
  const empty = egressFor(t, [], leadingTo([]))
  await assert.rejects(bodyOf(empty, 'operator', 'https://api.example/'), { code: 'upstream_unreachable' })
  await assert.rejects(bodyOf(empty, 'operator', 'no url'), { code: 'invalid_url' })
})
