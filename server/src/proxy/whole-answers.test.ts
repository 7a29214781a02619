import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { accessToken, startCalling } from '../../testkit/calling.ts'
import type { Calling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import type { Engine } from '../platform/database/database.ts'

type Shown = [encoding: string, body: unknown]

/** What comes of each answer: by its content type (and more headers), and its bytes. */
async function startShowing(t: Parameters<typeof startCalling>[0], engine: Engine, settings = {}) {
  let next: { headers: Record<string, string>; bytes: Buffer } = { headers: {}, bytes: Buffer.alloc(0) }
  const calling: Calling = await startCalling(t, engine, {
    settings,
    answer: (response) => response.writeHead(200, next.headers).end(next.bytes),
  })
  const reply = (headers: Record<string, string>, bytes: Buffer | string) => {
    next = { headers, bytes: Buffer.from(bytes as string) }
    return calling.proxy()
  }
  const shown = async (type: string | undefined, bytes: Buffer | string): Promise<Shown> => {
    const { body } = await reply(type === undefined ? {} : { 'content-type': type }, bytes)
    return [body.body_encoding, body.body]
  }
  return { calling, reply, shown }
}

function utf16(text: string, { isBig = false, bom = false } = {}): Buffer {
  const bytes = Buffer.from(`${bom ? '\ufeff' : ''}${text}`, 'utf16le')
  return isBig ? bytes.swap16() : bytes
}

onBothDatabases('a buffered response', (engine) => {
  test('that is JSON is passed on unchanged', async (t) => {
    const { reply } = await startShowing(t, engine)
    for (const json of [
      '{"id": 12345678901234567890123, "a":1,"a":2 ,\n\t"e": 1.0e+2, "__proto__": {"x": -0.0}}',
      ' [1 , 2]\n',
      '"text \\u0041 \\/ é 漢"',
      'null',
      '123456789012345678901234567890.10',
    ]) {
      for (const type of ['application/json', 'application/problem+json; charset=utf-8', 'Application/JSON']) {
        const { text, body } = await reply({ 'content-type': type }, json)
        assert.equal(body.body_encoding, 'json')
        assert.ok(text.includes(`"body":${json},"body_encoding"`), text)
      }
    }
  })

  test('that would more than double as JSON is base64', async (t) => {
    const { shown } = await startShowing(t, engine)
    const base64 = (bytes: Buffer) => ['base64', bytes.toString('base64')]
    const control = '\u0001'.repeat(5000)
    for (const type of ['text/plain', undefined, 'text/plain; charset=utf-8', 'text/plain; charset=iso-8859-1']) {
      assert.deepEqual(await shown(type, control), base64(Buffer.from(control)), type)
    }
    const wide = utf16(control)
    assert.deepEqual(await shown('text/plain; charset=utf-16le', wide), base64(wide))
    const half = `${control}${'a'.repeat(25_000)}`
    for (const text of ['"'.repeat(5000), '\\\n\t'.repeat(2000), half, '\u0001'.repeat(4096), '\u007f'.repeat(5000)]) {
      assert.deepEqual(await shown('text/plain', text), ['text', text])
    }
  })

  test('that hides a credential in another charset is text without it, however it grows', async (t) => {
    const { shown } = await startShowing(t, engine)
    const hidden = utf16(`${'\u0001'.repeat(5000)}${accessToken}`)
    const [encoding, body] = await shown('text/plain; charset=utf-16le', hidden)
    const plain = encoding === 'base64' ? Buffer.from(String(body), 'base64').toString('utf16le') : String(body)
    assert.doesNotMatch(plain, new RegExp(accessToken))
  })

  test('that only claims to be JSON is text', async (t) => {
    const { shown } = await startShowing(t, engine)
    const deep = '['.repeat(100_000)
    for (const broken of ['{"a":1', "{'a':1}", '{"a":1}x', '{} {}', 'NaN', '[1,]', '\ufeff{}', '"\u0001"', deep, 'é']) {
      assert.deepEqual(await shown('application/json', broken), ['text', broken])
    }
    assert.deepEqual(await shown('application/json', Buffer.from([0xff, 0x00])), ['base64', '/wA='])
    assert.deepEqual(await shown('text/plain', '{"a":1}'), ['text', '{"a":1}'])
    assert.deepEqual(await shown('application/jsonp', '{"a":1}'), ['text', '{"a":1}'])
    assert.deepEqual(await shown('application/json', ''), ['text', ''])
  })

  test('is text in its charset or UTF-8, else base64', async (t) => {
    const { shown } = await startShowing(t, engine)
    const latin = Buffer.from('caf\xe9 \x80', 'latin1')
    assert.deepEqual(await shown('text/plain; charset=iso-8859-1', latin), ['text', 'café €'])
    assert.deepEqual(await shown('text/plain; Charset="latin1"; x=y', latin), ['text', 'café €'])
    assert.deepEqual(await shown('text/html;charset=Shift_JIS', Buffer.from([0x8a, 0xbf, 0x8e, 0x9a])), [
      'text',
      '漢字',
    ])
    assert.deepEqual(await shown('application/json; charset=shift_jis', Buffer.from([0x22, 0x8a, 0xbf, 0x22])), [
      'text',
      '"漢"',
    ])
    assert.deepEqual(await shown('text/plain; charset=utf-16le', utf16('hé 漢')), ['text', 'hé 漢'])
    assert.deepEqual(await shown('text/plain; charset=utf-16be', utf16('hé', { isBig: true })), ['text', 'hé'])
    assert.deepEqual(await shown('text/plain; charset=utf-16', utf16('hé', { bom: true })), ['text', 'hé'])
    assert.deepEqual(await shown('text/plain; charset=utf-16', utf16('hé', { isBig: true, bom: true })), ['text', 'hé'])
    assert.deepEqual(await shown('text/plain; charset=utf-16', Buffer.from([0x00])), ['base64', 'AA=='])
    assert.deepEqual(await shown('text/plain; charset=no-such', 'hé'), ['text', 'hé'])
    assert.deepEqual(await shown(undefined, 'hé\u0000'), ['text', 'hé\u0000'])
    assert.deepEqual(await shown('text/plain; charset=utf-8', latin), ['base64', latin.toString('base64')])
    const png = Buffer.from('89504e470d0a1a0a', 'hex')
    assert.deepEqual(await shown('image/png', png), ['base64', png.toString('base64')])
  })

  test('has the token redacted in any charset', async (t) => {
    const { reply } = await startShowing(t, engine)
    const token = `<${accessToken}>`
    const answers: [string, Buffer][] = [
      ['text/plain; charset=utf-16le', utf16(token)],
      ['text/plain; charset=utf-16', utf16(token, { isBig: true, bom: true })],
      ['application/json; charset=utf-16', utf16(`"${token}"`, { bom: true })],
      ['text/plain; charset=iso-2022-jp', Buffer.from(`\x1b(B${token.slice(0, 20)}\x1b(B${token.slice(20)}`)],
      ['text/plain; charset=shift_jis', Buffer.from(token)],
    ]
    for (const [type, bytes] of answers) {
      const { text, body } = await reply({ 'content-type': type }, bytes)
      assert.ok(!text.includes(accessToken), type)
      assert.match(body.body, /<\[REDACTED\]>/, type)
      assert.ok(body.redactions > 0)
    }
  })

  test('is recorded with its decoded size, not its compressed one', async (t) => {
    const { calling, reply } = await startShowing(t, engine)
    for (const [guess, size] of [
      [accessToken.slice(0, 20), 31],
      ['x'.repeat(20), 31],
    ] as const) {
      await reply({ 'content-encoding': 'gzip', 'content-type': 'text/plain' }, gzipSync(`${guess} ${accessToken}`))
      assert.equal((await calling.records()).at(-1)?.detail.bytes, size)
    }
  })

  test('is decoded, unless the encoding is unsupported or it is too large', async (t) => {
    const { reply } = await startShowing(t, engine, { SALLYPORT_PROXY_ANSWER_BYTES: '100000' })
    const encoded = async (encoding: string, bytes: Buffer | string) => {
      const { status, body } = await reply({ 'content-encoding': encoding, 'content-type': 'text/plain' }, bytes)
      return [status, body.error?.code ?? body.body]
    }
    assert.deepEqual(await encoded('gzip', gzipSync('hello')), [200, 'hello'])
    assert.deepEqual(await encoded('gzip', gzipSync(`a ${accessToken}`)), [200, 'a [REDACTED]'])
    assert.deepEqual(await encoded('gzip', ''), [200, ''])
    assert.deepEqual(await encoded('x-own', 'hello'), [502, 'upstream_encoding_unsupported'])
    assert.deepEqual(await encoded('gzip', 'no gzip'), [502, 'upstream_encoding_unsupported'])
    assert.deepEqual(await encoded('gzip', gzipSync('x'.repeat(100_001))), [502, 'upstream_body_too_large'])
    assert.deepEqual(await encoded('gzip', gzipSync(Buffer.alloc(50_000_000))), [502, 'upstream_body_too_large'])
    assert.deepEqual(await encoded('identity', 'x'.repeat(100_001)), [502, 'upstream_body_too_large'])
    assert.equal((await encoded('identity', 'x'.repeat(100_000)))[1].length, 100_000)
  })

  test('has repeated headers, no hop-by-hop ones, and a length only without a body', async (t) => {
    const calling = await startCalling(t, engine, {
      answer: (response, { path }) => {
        const length = { 'content-length': '5', 'keep-alive': 'timeout=5' }
        if (path === '/encoded') response.setHeader('content-encoding', 'gzip')
        response.writeHead(200, { ...length, 'x-two': ['a', 'b'], 'x-late': '\xe9', location: '/next' })
        response.end()
      },
    })
    const { body } = await calling.proxy({ method: 'HEAD' })
    const { headers } = body
    assert.deepEqual([headers['x-two'], headers['content-length'], headers['x-late']], [['a', 'b'], '5', 'é'])
    assert.equal(headers.location, '/next')
    const url = `https://${calling.upstream.host}/encoded`
    const encoded = (await calling.proxy({ method: 'HEAD', url })).body.headers
    for (const name of ['keep-alive', 'content-encoding', 'connection']) {
      assert.ok(!(name in headers) && !(name in encoded), name)
    }
    // The length of another body than the one that a GET would bring.
    assert.ok(!('content-length' in encoded))
  })
})
