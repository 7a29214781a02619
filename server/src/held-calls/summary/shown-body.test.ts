import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { mintToken } from '../../platform/tokens.ts'
import { maxShownBytes, shownBody } from './shown-body.ts'

function shown(type: string, body: string | Buffer, more: [string, string][] = []) {
  return shownBody({ headers: [['content-type', type], ...more], body: Buffer.from(body) })
}

test('JSON is laid out, with numbers as written and strings decoded', () => {
  const given = '\ufeff{"a":1e400,"b":[1,{"c":"\\u0068i\\u202e\\n\\"\\\\"}],"d":{},"e":[ ]}'
  assert.deepEqual(shown('application/json', given), {
    kind: 'json',
    text: '{\n  "a": 1e400,\n  "b": [\n    1,\n    {\n      "c": "hi\\u202e\\n\\"\\\\"\n    }\n  ],\n  "d": {},\n  "e": []\n}',
    is_cut: false,
  })
  assert.equal(shown('text/plain', '{"a":12345678901234567890}').text, '{\n  "a": 12345678901234567890\n}')
})

test('what reads in several ways is shown as it was written', () => {
  assert.deepEqual(shown('application/json', '{"a":1,"a":2}'), { kind: 'text', text: '{"a":1,"a":2}', is_cut: false })
  assert.deepEqual(shown('application/json', '{"a":1'), { kind: 'text', text: '{"a":1', is_cut: false })
  const form = 'application/x-www-form-urlencoded'
  for (const body of ['a=1;b=2', 'a=%zz', 'a[]=1', 'a', '=1']) assert.equal(shown(form, body).text, body)
  assert.equal(shown(form, 'a=1;b=2').kind, 'text')
  assert.deepEqual(shown(form, 'a=1+%32&b=%0Ac+%3D+3'), { kind: 'form', text: 'a = 1 2\nb = \\nc = 3', is_cut: false })
})

test('text keeps its line breaks and shows everything that misleads', () => {
  assert.deepEqual(shown('text/plain', 'a\r\nb\tc\u202ed\u200be\rf'), {
    kind: 'text',
    text: 'a\nb\tc\\u202ed\\u200be\\rf',
    is_cut: false,
  })
})

test('other bytes are counted', () => {
  const binary = (count: number, more = '') => ({
    kind: 'binary',
    text: `binary, ${count} bytes${more}`,
    is_cut: false,
  })
  assert.deepEqual(shown('image/png', Buffer.of(0x89, 0x50, 0)), binary(3))
  assert.deepEqual(shown('text/plain', 'a\u0000b'), binary(3))
  assert.deepEqual(shown('application/json; charset=utf-16', '{"é":1}'), binary(8))
  assert.deepEqual(shown('text/plain', 'hello', [['content-encoding', 'br']]), binary(5, ', compressed'))
  assert.deepEqual(shownBody({ headers: [], body: undefined }), { kind: 'none', text: '', is_cut: false })
  const zipped = gzipSync('{"a":1}')
  assert.equal(shown('application/json', zipped, [['content-encoding', 'gzip']]).text, '{\n  "a": 1\n}')
})

test('a long body is cut at a character, and never within an escape', () => {
  for (const [type, body] of [
    ['text/plain', 'é'.repeat(40_000)],
    ['text/plain', `x${'\u202e'.repeat(40_000)}`],
    ['application/json', JSON.stringify([`x${'😀'.repeat(40_000)}`])],
    ['application/json', `${'['.repeat(499)}${']'.repeat(499)}`],
    ['application/x-www-form-urlencoded', `a=${'%C3%A9'.repeat(40_000)}`],
  ] as const) {
    const { text, is_cut } = shown(type, body)
    const bytes = Buffer.byteLength(text)
    assert.ok(bytes <= maxShownBytes && (!is_cut || bytes > maxShownBytes - 10), `${bytes} ${body.slice(0, 5)}`)
    assert.ok(text.isWellFormed())
    if (body.includes('\u202e')) assert.match(text, /^x(?:\\u202e)+$/)
  }
})

test('our own tokens are redacted, also where JSON escapes them', () => {
  const token = mintToken('agent').reveal()
  assert.equal(shown('text/plain', `a ${token} b`).text, 'a [REDACTED] b')
  assert.equal(shown('application/json', `["sp\\u005f${token.slice(3)}"]`).text, '[\n  "[REDACTED]"\n]')
  const form = 'application/x-www-form-urlencoded'
  assert.equal(shown(form, `t=${token.replaceAll('_', '%5F')}`).text, 't = [REDACTED]')
})

test('for every body, what is shown is bounded and has no character that misleads', () => {
  const types = ['application/json', 'application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data', '']
  const body = fc.oneof(
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
    fc.json({ stringUnit: 'binary' }).map((text) => Buffer.from(text)),
  )
  fc.assert(
    fc.property(fc.constantFrom(...types), body, (type, bytes) => {
      const { text } = shown(type, bytes)
      assert.ok(Buffer.byteLength(text) <= maxShownBytes)
      assert.doesNotMatch(text.replaceAll(/[\n\t]/g, ''), /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
    }),
    { numRuns: 1000 },
  )
})
