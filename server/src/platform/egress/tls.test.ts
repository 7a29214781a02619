/** Certificate verification. Each server is real, with a certificate of the test's CA. */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { before, test } from 'node:test'
import type { TestContext } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { createAuthority } from '../../../testkit/certificates.ts'
import type { Authority } from '../../../testkit/certificates.ts'
import { temporaryFolder } from '../../../testkit/databases.ts'
import { leadingTo, testEgress } from '../../../testkit/egress.ts'
import { listen, startTlsUpstream } from '../../../testkit/tls-upstream.ts'
import type { Egress } from './egress.ts'

let authority: Authority
let stranger: Authority

before(async (t) => {
  authority = await createAuthority(temporaryFolder(t as TestContext))
  stranger = await createAuthority(temporaryFolder(t as TestContext))
})

const call = async (egress: Egress, url: string) => (await egress.fetch('operator')(url)).text()

function refused(egress: Egress, url: string): Promise<void> {
  return assert.rejects(call(egress, url), { code: 'upstream_tls_error' })
}

test('the extra CAs apply to listed hosts and ports', async (t) => {
  const { port } = await startTlsUpstream(t, await authority.issue({ names: ['api.example', 'other.example'] }))
  const { caPem } = authority
  const listed = testEgress(t, { allow: [`api.example:${port}`], caPem })
  assert.equal(await call(listed, `https://api.example:${port}/`), 'hello')
  await refused(testEgress(t, { allow: [`api.example:${port}`] }), `https://api.example:${port}/`)
})

test('the extra CAs apply to listed ranges', async (t) => {
  const certificate = await authority.issue({ names: ['api.example'], addresses: ['127.0.0.1'] })
  const { port } = await startTlsUpstream(t, certificate)
  const egress = testEgress(t, { allow: ['127.0.0.0/8'], caPem: authority.caPem })
  assert.equal(await call(egress, `https://api.example:${port}/`), 'hello')
  assert.equal(await call(egress, `https://127.0.0.1:${port}/`), 'hello')
})

test('the extra CAs do not apply to unlisted public addresses', async (t) => {
  const upstream = await startTlsUpstream(t, await authority.issue({ names: ['api.example'] }))
  const { port } = upstream
  const { caPem } = authority
  // The first address responds immediately, so the second is never used.
  const half = testEgress(t, { allow: ['127.0.0.1'], caPem, lookup: leadingTo(['127.0.0.1', '93.184.216.34']) })
  await refused(half, `https://api.example:${port}/`)
  const all = testEgress(t, { allow: ['127.0.0.1'], caPem, lookup: leadingTo(['127.0.0.1', '127.0.0.1']) })
  assert.equal(await call(all, `https://api.example:${port}/`), 'hello')
})

test('a certificate of an unknown CA is refused', async (t) => {
  const upstream = await startTlsUpstream(t, await stranger.issue({ names: ['api.example'] }))
  const egress = testEgress(t, { allow: ['127.0.0.1'], caPem: authority.caPem })
  await refused(egress, `https://api.example:${upstream.port}/`)
  assert.deepEqual(upstream.requests, [])
})

test('an expired certificate is refused', async (t) => {
  const upstream = await startTlsUpstream(t, await authority.issue({ names: ['api.example'], expired: true }))
  const egress = testEgress(t, { allow: ['127.0.0.1'], caPem: authority.caPem })
  await refused(egress, `https://api.example:${upstream.port}/`)
  assert.deepEqual(upstream.requests, [])
})

test('a certificate for another name or address is refused', async (t) => {
  const certificate = await authority.issue({ names: ['other.example', '*.api.example'], addresses: ['127.0.0.2'] })
  const { port, requests } = await startTlsUpstream(t, certificate)
  const egress = testEgress(t, { allow: ['127.0.0.0/8'], caPem: authority.caPem })
  for (const host of ['api.example', 'a.b.api.example', 'xn--bcher-kva.example', '127.0.0.1']) {
    await refused(egress, `https://${host}:${port}/`)
  }
  assert.deepEqual(requests, [])
  assert.equal(await call(egress, `https://a.api.example:${port}/`), 'hello')
})

test('the host is sent as the TLS server name (SNI)', async (t) => {
  const names: (string | false | null)[] = []
  const certificate = await authority.issue({ names: ['api.example'], addresses: ['127.0.0.1'] })
  const { port } = await startTlsUpstream(t, certificate, (request, response) => {
    names.push((request.socket as TLSSocket).servername)
    response.end()
  })
  const egress = testEgress(t, { allow: ['127.0.0.0/8'], caPem: authority.caPem })
  await call(egress, `https://api.example:${port}/`)
  // RFC 6066 §3: an IP address is not a server name.
  await call(egress, `https://127.0.0.1:${port}/`)
  assert.deepEqual(names, ['api.example', false])
})

test('no environment variable turns certificate verification off', async (t) => {
  const { port } = await startTlsUpstream(t, await stranger.issue({ names: ['api.example'] }))
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
  t.after(() => delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'])
  await refused(testEgress(t, { allow: ['127.0.0.1'] }), `https://api.example:${port}/`)
})

test('a server without TLS or with an outdated version is refused', async (t) => {
  const plain = await listen(
    t,
    createServer((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello')),
  )
  const hangsUp = await listen(
    t,
    createServer((socket) => socket.destroy()),
  )
  const certificate = await authority.issue({ names: ['api.example'] })
  const versions = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
  const old = await startTlsUpstream(t, { ...certificate, ...versions })
  const egress = testEgress(t, { allow: ['127.0.0.1'], caPem: authority.caPem })
  for (const { port } of [plain, hangsUp, old]) await refused(egress, `https://api.example:${port}/`)
})
