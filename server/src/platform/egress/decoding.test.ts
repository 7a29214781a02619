/** Bodies in every accepted encoding, buffered and streamed, and those that are refused. */
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import * as zlib from 'node:zlib'
import { acceptedEncodings, decodeStream, decodeWhole } from './decoding.ts'

const text = JSON.stringify({ name: 'x'.repeat(300), list: Array.from({ length: 50 }, (_, index) => index) })
const long = Buffer.from(text.repeat(3000))
const max = 10_485_760

const encoders: Record<string, (body: Buffer) => Buffer> = {
  gzip: (body) => zlib.gzipSync(body),
  'x-gzip': (body) => zlib.gzipSync(body),
  br: (body) => zlib.brotliCompressSync(body, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }),
  zstd: (body) => zlib.zstdCompressSync(body),
  deflate: (body) => zlib.deflateSync(body),
}

const whole = (body: Buffer, encoding: string, maxBytes = max) => decodeWhole(body, encoding, maxBytes, 'api.example')

async function streamed(body: Buffer, encoding: string, pieceBytes = 1000): Promise<Buffer> {
  const pieces = Array.from({ length: Math.ceil(body.length / pieceBytes) }, (_, index) =>
    body.subarray(index * pieceBytes, (index + 1) * pieceBytes),
  )
  const chunks: Uint8Array[] = []
  for await (const chunk of decodeStream(Readable.from(pieces), encoding, 'api.example')) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function decodes(body: Buffer, encoding: string, expected: Buffer | string): Promise<void> {
  assert.equal((await whole(body, encoding)).toString(), expected.toString(), encoding)
  for (const pieceBytes of body.length < 1000 ? [1, 2, 7, 1000] : [65_536]) {
    assert.equal((await streamed(body, encoding, pieceBytes)).toString(), expected.toString(), encoding)
  }
}

async function refuses(code: string, body: Buffer, encoding: string): Promise<void> {
  await assert.rejects(whole(body, encoding), { code }, encoding)
  await assert.rejects(streamed(body, encoding), { code }, `${encoding}, streamed`)
}

test('every accepted content encoding is decoded, alone and combined', async () => {
  for (const name of acceptedEncodings.split(', ')) assert.ok(name in encoders, name)
  for (const [name, encode] of Object.entries(encoders)) {
    await decodes(encode(Buffer.from(text)), name, text)
    await decodes(encode(Buffer.from('')), name, '')
    await decodes(encode(long), ` ${name.toUpperCase()} `, long)
    await decodes(zlib.gzipSync(encode(Buffer.from(text))), `${name}, identity,, gzip`, text)
  }
})

test('deflate is decoded with and without the zlib header', async () => {
  await decodes(zlib.deflateRawSync(text), 'deflate', text)
  await decodes(zlib.deflateRawSync(long), 'deflate', long)
  for (const level of [0, 1, 6, 9]) await decodes(zlib.deflateSync(text, { level }), 'deflate', text)
})

test('gzip members are concatenated, and bytes after the last are ignored', async () => {
  await decodes(Buffer.concat([zlib.gzipSync('hel'), zlib.gzipSync('lo')]), 'gzip', 'hello')
  await decodes(Buffer.concat([zlib.gzipSync('hello'), Buffer.alloc(20)]), 'gzip', 'hello')
})

test('zstd with several frames is decoded completely or refused, never cut off', async () => {
  for (const body of [Buffer.from(text), long]) {
    const frames = Buffer.concat([zlib.zstdCompressSync(body), zlib.zstdCompressSync('and more')])
    await refuses('upstream_encoding_unsupported', frames, 'zstd')
    const pieces = Readable.from([zlib.zstdCompressSync(body), zlib.zstdCompressSync('and more')])
    const decoded = await buffer(decodeStream(pieces, 'zstd', 'api.example'))
    assert.equal(decoded.toString(), `${body.toString()}and more`)
  }
})

test('an unencoded body is passed through unchanged', async () => {
  const body = Buffer.from(text)
  for (const encoding of ['', 'identity', ' , Identity ']) {
    assert.equal(await whole(body, encoding), body)
    const source = Readable.from([body])
    assert.equal(decodeStream(source, encoding, 'api.example'), source)
  }
})

test('an empty body decodes to an empty body in every encoding', async () => {
  for (const name of [...Object.keys(encoders), 'gzip, br']) await decodes(Buffer.alloc(0), name, '')
})

test('unknown, excessively nested and corrupt encodings are refused', async () => {
  const code = 'upstream_encoding_unsupported'
  for (const name of ['compress', 'aes128gcm', 'gzip, constructor', 'gzip; q=1', 'dcb']) {
    await assert.rejects(whole(zlib.gzipSync('x'), name), { code }, name)
    assert.throws(() => decodeStream(Readable.from([]), name, 'api.example'), { code }, name)
  }
  await assert.rejects(whole(zlib.gzipSync('x'), 'gzip, gzip, gzip'), { code })
  for (const [name, encode] of Object.entries(encoders)) {
    await refuses(code, Buffer.from(text), name)
    for (const body of [encode(Buffer.from(text)), encode(long)]) await refuses(code, body.subarray(0, -3), name)
    await refuses(code, encode(Buffer.from(text)), `${name}, br, identity`)
  }
  const gzipped = zlib.gzipSync(text)
  gzipped.writeUInt8(gzipped.readUInt8(gzipped.length - 6) ^ 1, gzipped.length - 6)
  await refuses(code, gzipped, 'gzip')
})

test('a zstd window larger than the web allows is refused', async () => {
  const params = { [zlib.constants.ZSTD_c_windowLog]: 27, [zlib.constants.ZSTD_c_contentSizeFlag]: 0 }
  const pieces = zlib.createZstdCompress({ params })
  pieces.write(long)
  pieces.end()
  await refuses('upstream_encoding_unsupported', Buffer.concat(await pieces.toArray()), 'zstd')
})

test('a decoded body may be exactly as large as the limit', async () => {
  for (const [name, encode] of Object.entries(encoders)) {
    for (const body of [Buffer.from(text), long]) {
      const encoded = encode(body)
      await assert.rejects(whole(encoded, name, body.length - 1), { code: 'upstream_body_too_large' }, name)
      assert.equal((await whole(encoded, name, body.length)).length, body.length, name)
    }
    await assert.rejects(whole(encode(Buffer.alloc(33_554_432)), name), { code: 'upstream_body_too_large' }, name)
  }
})

test('a stream may be large, but its compression ratio is limited', async () => {
  const zeros = Buffer.alloc(33_554_432)
  assert.equal((await streamed(zlib.gzipSync(zeros), 'gzip')).length, zeros.length)
  for (const bomb of [zlib.brotliCompressSync(zeros), zlib.zstdCompressSync(zeros)]) {
    const encoding = bomb.readUInt32LE() === 0xfd2fb528 ? 'zstd' : 'br'
    await assert.rejects(streamed(bomb, encoding), { code: 'upstream_body_too_large' }, encoding)
  }
  const twice = zlib.gzipSync(zlib.gzipSync(zeros))
  await assert.rejects(streamed(twice, 'gzip, gzip'), { code: 'upstream_body_too_large' })
})

test('decoded bytes are passed on before the body is complete', async () => {
  for (const [name, create] of Object.entries({ gzip: zlib.createGzip, deflate: zlib.createDeflate })) {
    const source = create()
    const decoded = decodeStream(source, name, 'api.example')[Symbol.asyncIterator]()
    for (const event of ['one', 'two']) {
      source.write(event)
      source.flush()
      assert.equal(Buffer.from((await decoded.next()).value as Uint8Array).toString(), event, name)
    }
    source.destroy()
  }
})

test('errors of the source are passed on unchanged, and a reader that stops destroys the source', async () => {
  const broken = Readable.from(
    (function* () {
      yield zlib.gzipSync(text).subarray(0, 20)
      throw new RangeError('of the body')
    })(),
  )
  await assert.rejects(Readable.from(decodeStream(broken, 'gzip', 'api.example')).toArray(), RangeError)
  const endless = new Readable({
    read() {
      this.push(zlib.gzipSync(long))
    },
  })
  endless.on('error', () => undefined)
  for await (const chunk of decodeStream(endless, 'gzip', 'api.example')) {
    assert.ok(chunk.length > 0)
    break
  }
  for (let times = 0; times < 500 && !endless.destroyed; times++) await sleep(10)
  assert.ok(endless.destroyed)
})
