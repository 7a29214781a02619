/** What a caller gets from upstreams with unusual behaviour, buffered and streamed. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { behaviours, longText, oddPath, startOddUpstream } from '../server/testkit/odd-upstream.ts'
import type { Oddity } from '../server/testkit/odd-upstream.ts'
import type { RawUpstream } from '../server/testkit/raw-http.ts'
import { startCalling } from './calling.ts'
import type { Calling } from './calling.ts'
import { within } from './running-service.ts'

const hello = { status: 200, body: { hello: 'world' }, body_encoding: 'json' }
const text = (body: string) => ({ status: 200, body, body_encoding: 'text' })
const bytes = (...values: number[]) => ({
  status: 200,
  body: Buffer.from(values).toString('base64'),
  body_encoding: 'base64',
})
const unreachable = { error: 'upstream_unreachable' }
const timeout = { error: 'upstream_timeout' }
const tooLarge = { error: 'upstream_body_too_large' }
const undecodable = { error: 'upstream_encoding_unsupported' }

type Expected = { status: number; body: unknown; body_encoding: string } | { error: string }

/** Of a buffered call. */
const buffered: Record<Oddity, Expected> = {
  plain: hello,
  chunked: hello,
  'chunk extensions': hello,
  'no length': hello,
  'empty body': text(''),
  'http 1.0': hello,
  // We never sent Expect: 100-continue.
  '100 continue': unreachable,
  'early hints': hello,
  'hints without end': unreachable,
  'switching protocols': unreachable,
  trailers: hello,
  'invalid json': text('{"hello": wor'),
  // RFC 8259 §8.1 lets a parser ignore a byte order mark and forbids sending one, so it is treated as text.
  'json with a byte order mark': text('\ufeff{"hello":"world"}'),
  'json twice': text('{"hello":"world"}\n{"hello":"world"}\n'),
  'invalid utf-8': bytes(0x61, 0xff, 0xfe, 0x62),
  'json in invalid utf-8': bytes(0x22, 0xff, 0x22),
  'latin-1 text': text('gé'),
  binary: bytes(0x89, 0x50, 0x4e, 0x47, 0, 0xff),
  'no type': text('{"hello":"world"}'),
  'long json': { status: 200, body: [longText], body_encoding: 'json' },
  'long text': text(longText),
  'head with a body': text(''),
  'no content with a body': { ...text(''), status: 204 },
  'not modified with a length': { ...text(''), status: 304 },
  redirect: { ...text(''), status: 302 },
  'no reason': hello,
  'a status of its own': { ...hello, status: 799 },
  cookies: hello,
  'headers of the connection': hello,
  'a header twice': hello,
  'a huge header': tooLarge,
  'too many headers': tooLarge,
  'a zero byte in a header': unreachable,
  'a header without a colon': unreachable,
  'bare line feeds': unreachable,
  'closes at once': unreachable,
  'closes within its headers': unreachable,
  'closes within its body': unreachable,
  'closes within a chunk': unreachable,
  'closes before the last chunk': unreachable,
  'resets within its body': unreachable,
  'more than its length': text('hello'),
  'a length twice': unreachable,
  'two lengths': unreachable,
  'a length that is none': unreachable,
  'a length and chunks': unreachable,
  'not http': unreachable,
  'slow first byte': hello,
  'slow body': hello,
  'never answers': timeout,
  'stops within its body': timeout,
  gzip: hello,
  zstd: hello,
  'gzip twice': hello,
  'gzip in two members': hello,
  'gzip of an error': { ...hello, status: 404 },
  'gzip cut short': undecodable,
  'gzip that is none': undecodable,
  'gzip of nothing': text(''),
  'a bomb': tooLarge,
  'an unknown encoding': undecodable,
  identity: hello,
}

/** These never end by themselves. */
const endless: Oddity[] = ['never answers', 'stops within its body', 'hints without end']

describe('an upstream that', () => {
  let calling: Calling
  let odd: RawUpstream
  const endings: (() => unknown)[] = []
  before(async () => {
    const scope = { after: (ending: () => unknown) => endings.unshift(ending) } as Parameters<typeof startCalling>[0]
    odd = await startOddUpstream(scope)
    calling = await startCalling(scope, 'sqlite', { hosts: [odd.host] })
  })
  after(async () => {
    for (const ending of endings) await ending()
  })

  const ask = (name: Oddity, call: object = {}) =>
    within(
      calling.proxy(`https://${odd.host}${oddPath(name)}`, {
        ...(name === 'head with a body' && { method: 'HEAD' }),
        ...(endless.includes(name) && { timeout_ms: 1000 }),
        ...call,
      }),
      `"${name}" was never answered`,
    )

  for (const name of Object.keys(behaviours) as Oddity[]) {
    const expected = buffered[name]
    const what = 'error' in expected ? expected.error : `${expected.status} ${expected.body_encoding}`
    test(`does "${name}" gives ${what}, and the next call is served`, async () => {
      const { status, body, text: shown } = await ask(name)
      if ('error' in expected) {
        assert.equal(body.error?.code, expected.error, shown)
      } else {
        assert.equal(status, 200, shown)
        const { status: upstreamStatus, body: upstreamBody, body_encoding } = body
        assert.deepEqual({ status: upstreamStatus, body: upstreamBody, body_encoding }, expected)
      }
      const next = await ask('plain')
      assert.deepEqual(next.body.body, hello.body, next.text)
    })
  }

  test('sends cookies or hop-by-hop headers has them removed', async () => {
    const cookies = (await ask('cookies')).body.headers
    assert.deepEqual([cookies['set-cookie'], cookies['x-kept']], [undefined, 'yes'])
    const hops = (await ask('headers of the connection')).body.headers
    assert.deepEqual([hops['connection'], hops['keep-alive'], hops['x-hop']], [undefined, undefined, undefined])
    assert.deepEqual((await ask('a header twice')).body.headers['x-many'], ['one', 'two'])
  })

  test('redirects is not followed unless requested', async () => {
    const { body } = await ask('redirect')
    assert.deepEqual([body.status, body.headers.location], [302, '/odd/plain'])
    const followed = await ask('redirect', { follow_redirects: true })
    assert.deepEqual([followed.body.status, followed.body.body], [200, hello.body])
  })
})
