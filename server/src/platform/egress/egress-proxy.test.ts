/** A real forward proxy between the egress and a real upstream: honest ones, and ones that attack. */
import assert from 'node:assert/strict'
import type { Duplex } from 'node:stream'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { sharedAuthority, createAuthority } from '../../../testkit/certificates.ts'
import { temporaryFolder } from '../../../testkit/databases.ts'
import { leadingTo, testEgress } from '../../../testkit/egress.ts'
import { startForwardProxy } from '../../../testkit/forward-proxy.ts'
import type { ForwardProxy } from '../../../testkit/forward-proxy.ts'
import { startHttp2Upstream, startTlsUpstream } from '../../../testkit/tls-upstream.ts'
import { parseAllowEntry } from './destinations.ts'
import type { Egress } from './egress.ts'
import { parseProxyUrl } from './egress-proxy.ts'
import type { EgressProxy } from './egress-proxy.ts'
import type { Lookup } from './resolver.ts'

const authority = await sharedAuthority()
const certificate = await authority.issue({ names: ['api.example', 'proxy.example'], addresses: ['127.0.0.1'] })

interface Given {
  url?: string
  allow?: string[]
  lookup?: Lookup
  more?: Partial<EgressProxy>
}

function through(t: TestContext, { port }: ForwardProxy, { url, lookup, more, ...given }: Given = {}): Egress {
  const parsed = parseProxyUrl(url ?? `http://127.0.0.1:${port}`)
  assert.ok(parsed)
  return testEgress(t, {
    allow: given.allow ?? ['127.0.0.1'],
    caPem: authority.caPem,
    proxy: { ...parsed, resolvesNames: false, direct: [], ...more },
    ...(lookup && { lookup }),
  })
}

const ask = (egress: Egress, { port }: { port: number }, limits = {}) =>
  egress.fetch('operator', limits)(`https://api.example:${port}/secret-path`, {
    headers: { authorization: 'Bearer hush-hush' },
  })

/** Nothing stays open on either side, so that failures don't use up the sockets. */
async function assertNoSockets(egress: Egress, proxy: ForwardProxy): Promise<void> {
  await egress.close()
  await proxy.allClosed()
  while (egress.size().sockets > 0) await new Promise(setImmediate)
}

test('calls go out by CONNECT to the checked address, and the proxy sees no more than that', async (t) => {
  const upstream = await startTlsUpstream(t, certificate)
  const proxy = await startForwardProxy(t, { password: 'me:p@ss' })
  const egress = through(t, proxy, { url: `http://me:p%40ss@127.0.0.1:${proxy.port}` })
  assert.equal(await (await ask(egress, upstream)).text(), 'hello')
  assert.deepEqual(proxy.targets, [`127.0.0.1:${upstream.port}`])
  assert.deepEqual([upstream.requests, upstream.connections()], [['GET /secret-path'], 1])
  assert.ok(proxy.seen().length > 1000)
  for (const secret of ['hush-hush', 'secret-path', 'hello']) assert.ok(!proxy.seen().includes(secret), secret)
})

test('HTTP/2 and a proxy that is reached over TLS', async (t) => {
  const upstream = await startHttp2Upstream(t, certificate)
  const proxy = await startForwardProxy(t, { certificate })
  const egress = through(t, proxy, { url: `https://proxy.example:${proxy.port}` })
  const answer = await egress.fetchOverHttp2()(`https://api.example:${upstream.port}/over-http2`)
  assert.equal(await answer.text(), 'hello')
  assert.deepEqual(upstream.requests, ['GET /over-http2'])
  const wrong = through(t, proxy, { url: `https://other.example:${proxy.port}` })
  await assert.rejects(ask(wrong, upstream), { code: 'upstream_unreachable', detail: /ERR_TLS_CERT_ALTNAME_INVALID/ })
  assert.equal(proxy.targets.length, 1)
})

test('what may not be called is refused before the proxy learns of it', async (t) => {
  const proxy = await startForwardProxy(t)
  for (const address of ['10.0.0.1', '169.254.169.254', '::1']) {
    const egress = through(t, proxy, { allow: [], lookup: leadingTo([address]) })
    await assert.rejects(ask(egress, { port: 443 }), { code: 'address_not_allowed' })
  }
  assert.equal(proxy.connections(), 0)
})

test('with names resolved by the proxy it gets names, and addresses are still refused here', async (t) => {
  const upstream = await startTlsUpstream(t, certificate)
  const proxy = await startForwardProxy(t)
  const lookup = leadingTo(['127.0.0.1'])
  const given = { allow: [`api.example:${upstream.port}`], more: { resolvesNames: true }, lookup }
  const egress = through(t, proxy, given)
  assert.equal(await (await ask(egress, upstream)).text(), 'hello')
  await egress.judgeName(new URL('https://api.example/'), 'stranger', 'url')
  assert.deepEqual(proxy.targets, [`api.example:${upstream.port}`])
  // Only the proxy itself was looked up, and it was given as an address.
  assert.deepEqual(lookup.asked, [])
  for (const host of ['127.0.0.1', '10.0.0.1', '[::1]', '0x7f000001']) {
    await assert.rejects(egress.fetch('operator')(`https://${host}:${upstream.port}/`), { code: 'address_not_allowed' })
  }
  // A name that is not listed does not get the operator's own authorities.
  const unlisted = through(t, proxy, { ...given, allow: [] })
  await assert.rejects(ask(unlisted, upstream), { code: 'upstream_tls_error' })
  assert.equal(upstream.requests.length, 1)
})

test('destinations that are to be reached directly don’t go through the proxy', async (t) => {
  const upstream = await startTlsUpstream(t, certificate)
  const proxy = await startForwardProxy(t)
  // A range can't match a name that only the proxy resolves.
  const place = `api.example:${upstream.port}`
  for (const [entry, resolvesNames] of [
    ['127.0.0.0/8', false],
    [place, false],
    [place, true],
  ] as const) {
    const egress = through(t, proxy, { more: { resolvesNames, direct: [parseAllowEntry(entry)] } })
    assert.equal(await (await ask(egress, upstream)).text(), 'hello')
  }
  assert.deepEqual([upstream.connections(), proxy.connections()], [3, 0])
  // An entry changes the way, not what may be called.
  const refused = through(t, proxy, { allow: [], more: { direct: [parseAllowEntry(place)] } })
  await assert.rejects(ask(refused, upstream), { code: 'address_not_allowed' })
})

const says = (text: string) => (socket: Duplex) => {
  socket.write(text)
  socket.resume().on('end', () => socket.destroy())
  return true
}

test('a proxy that refuses, lies or says nothing ends the call with a reason, and gets nothing', async (t) => {
  const upstream = await startTlsUpstream(t, certificate)
  const cases: [(socket: Duplex) => boolean, RegExp, string?][] = [
    [says('HTTP/1.1 403 No\r\n\r\n'), /refused the connection \(403\)/],
    [says('HTTP/1.1 502 Bad\r\ncontent-length: 5\r\n\r\nhello'), /refused the connection \(502\)|before TLS/],
    [says('HTTP/1.1 407 Again\r\n\r\n'), /did not accept its credentials \(407\)/],
    [says('SSH-2.0-OpenSSH_9.9\r\n'), /the egress proxy: HPE_/],
    [says(`HTTP/1.1 200 OK\r\n${'x-more: 1\r\n'.repeat(3000)}`), /the egress proxy: HPE_HEADER_OVERFLOW/],
    [says('HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\nfor you'), /sent bytes before TLS/],
    [says('HTTP/1.1 101 Switching Protocols\r\n\r\n'), /refused the connection \(101\)|the egress proxy/],
    [(socket) => Boolean(socket.destroy()), /the egress proxy: ECONNRESET/],
    [says(''), /no connection in time/, 'upstream_timeout'],
    [says('HTTP/1.1 200 OK\r\n\r\n'), /no connection in time/, 'upstream_timeout'],
  ]
  for (const [misbehave, detail, code = 'upstream_unreachable'] of cases) {
    const proxy = await startForwardProxy(t, { misbehave })
    const egress = through(t, proxy)
    await assert.rejects(
      ask(egress, upstream, { connectMs: code === 'upstream_timeout' ? 100 : 9_000 }),
      (error: any) => {
        assert.match(`${error.code} ${error.detail}`, new RegExp(`^${code} .*(?:${detail.source})`))
        return true
      },
    )
    await assertNoSockets(egress, proxy)
  }
  assert.equal(upstream.connections(), 0)
})

test('a proxy that poses as the upstream sees no request', async (t) => {
  const rogue = await createAuthority(temporaryFolder(t), 'Rogue')
  const posing = await rogue.issue({ names: ['api.example'] })
  const impostor = await startTlsUpstream(t, posing)
  const proxy = await startForwardProxy(t, { leadsTo: impostor.port })
  const egress = through(t, proxy)
  await assert.rejects(ask(egress, { port: 443 }), { code: 'upstream_tls_error' })
  assert.deepEqual([impostor.connections(), impostor.requests], [1, []])
  await assertNoSockets(egress, proxy)
})

test('an address that the proxy can’t reach is followed by the next one of the name', async (t) => {
  const upstream = await startTlsUpstream(t, certificate)
  const proxy = await startForwardProxy(t, {
    misbehave: (socket, target) => target.startsWith('[') && says('HTTP/1.1 504 Timeout\r\n\r\n')(socket),
  })
  const egress = through(t, proxy, { lookup: leadingTo(['::1', '127.0.0.1']), allow: [`api.example:${upstream.port}`] })
  assert.equal(await (await ask(egress, upstream)).text(), 'hello')
  assert.deepEqual(proxy.targets, [`[::1]:${upstream.port}`, `127.0.0.1:${upstream.port}`])
})

test('only an http or https URL without a path is a proxy', () => {
  assert.deepEqual(parseProxyUrl('http://proxy.internal:3128'), {
    ...{ isTls: false, host: 'proxy.internal', port: 3128, authorization: undefined },
  })
  assert.deepEqual(parseProxyUrl('https://me@[fd00::1]'), {
    ...{ isTls: true, host: 'fd00::1', port: 443, authorization: `Basic ${btoa('me:')}` },
  })
  assert.equal(parseProxyUrl('http://proxy')?.port, 80)
  const wrong = [
    'proxy:3128',
    'socks5://proxy',
    'http://',
    'http://proxy/path',
    'http://proxy/?a',
    'http://a%3Ab:c@proxy',
  ]
  for (const text of [...wrong, 'http://%ff@proxy']) assert.equal(parseProxyUrl(text), undefined, text)
})
