/** For any secret, any surroundings, any form and any split: nothing of it comes through, and nothing else is touched. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { leftOf, secretForms, spelled } from '../../testkit/secret-forms.ts'
import { Secret } from '../platform/secret.ts'
import { repetitions } from '../../testkit/repetitions.ts'
import { findSecrets } from './find-secrets.ts'
import type { Span } from './find-secrets.ts'
import { anyByte } from './held-back.ts'
import { createRedactor } from './redactor.ts'
import { compileSecrets } from './secret-forms.ts'

const tokenCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/'
const character = fc.constantFrom(...tokenCharacters.split(''))
const token = fc.string({ unit: character, minLength: 16, maxLength: 120 })
const printable = fc.constantFrom(...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)))
const escape = fc.constantFrom(
  '%eD',
  '%20',
  '%25',
  '%',
  '=44',
  '=C3',
  '\\u00e9',
  '\\n',
  '\\',
  '"',
  '&#200;',
  '&eacute;',
)
/** RFC 6749 lets a client's secret be anything that can be printed, and so also what looks like an escape. */
const anySecret = fc.oneof(
  fc.string({ unit: printable, minLength: 16, maxLength: 60 }),
  fc.string({ unit: fc.oneof(printable, escape), minLength: 16, maxLength: 40 }),
)
const bytes = fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array))
const form = fc.constantFrom(...secretForms)
const cuts = fc.array(fc.nat(400), { maxLength: 12 })

function inPieces(forms: ReturnType<typeof compileSecrets>, whole: Buffer, at: number[]): Buffer {
  const stream = createRedactor(forms).stream()
  const ends = [...new Set([...at.filter((one) => one < whole.length), whole.length])].sort((a, b) => a - b)
  const parts = ends.map((end, index) => stream.push(whole.subarray(ends[index - 1] ?? 0, end)))
  return Buffer.concat([...parts, stream.end()])
}

test('any token in any form is removed, and the other bytes are unchanged', () => {
  fc.assert(
    fc.property(token, form, bytes, bytes, cuts, (secret, { name, ...rest }, before, after, at) => {
      const forms = compileSecrets([new Secret(secret)])
      const [head, tail] = [Buffer.concat([before, Buffer.from('"')]), Buffer.concat([Buffer.from('"'), after])]
      const given = Buffer.concat([head, rest.encode(secret), tail])
      const output = createRedactor(forms).body(given)
      assert.ok(Buffer.isBuffer(output))
      assert.equal(leftOf(output, { name, ...rest }, secret), undefined, name)
      assert.deepEqual(output.subarray(0, head.length), head, name)
      assert.deepEqual(output.subarray(-tail.length), tail, name)
      const middle = output.subarray(head.length, -tail.length).toString('latin1').replaceAll('\0', '')
      // What was encoded together with it, its name say, may stay, and so may padding and breaks after it.
      assert.match(
        middle,
        /^decimal/.test(name)
          ? /^\[\s*91[ ,]82[ ,]69[ ,]68[ ,]65[ ,]67[ ,]84[ ,]69[ ,]68[ ,]93\s*\]$/
          : /after|in base64|mark/.test(name)
            ? /\[REDACTED\]/
            : /^\[REDACTED\](?:=|\\[rn]|[\r\n])*$/,
        name,
      )
      assert.deepEqual(inPieces(forms, given, at), output, name)
    }),
    { numRuns: repetitions(1500) },
  )
})

test('any mixture of encodings within one secret is found', () => {
  const ways = fc.array(fc.nat(100), { minLength: 5, maxLength: 40 })
  fc.assert(
    fc.property(token, ways, bytes, bytes, cuts, (secret, picks, before, after, at) => {
      const forms = compileSecrets([new Secret(secret)])
      const encode = (text: string) => Buffer.from(spelled(text, (index) => picks[index % picks.length] ?? 0))
      const given = Buffer.concat([before, encode(secret), after])
      const output = createRedactor(forms).body(given)
      assert.ok(Buffer.isBuffer(output))
      assert.equal(leftOf(output, { name: 'mixture', fitsHeader: true, encode }, secret), undefined)
      assert.equal(leftOf(inPieces(forms, given, at), { name: 'mixture', fitsHeader: true, encode }, secret), undefined)
    }),
    { numRuns: repetitions(1500) },
  )
})

test('a secret of any characters is found plain, in JSON, HTML, a URL, base64 and hex', () => {
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1)
  const inHtml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&#34;')
  const encoders: ((secret: string) => string)[] = [
    (secret) => secret,
    inJson,
    inHtml,
    (secret) => inJson(inJson(secret)),
    (secret) => inHtml(inJson(secret)),
    (secret) => encodeURIComponent(inJson(secret)),
    (secret) => secret.replaceAll('=', '=3D'),
    encodeURIComponent,
    (secret) => Buffer.from(secret).toString('base64'),
    (secret) => Buffer.from(secret).toString('hex'),
    (secret) => new URLSearchParams({ a: secret }).toString().slice(2),
  ]
  fc.assert(
    fc.property(anySecret, fc.constantFrom(...encoders), bytes, bytes, cuts, (secret, encode, before, after, at) => {
      const forms = compileSecrets([new Secret(secret)])
      const given = Buffer.concat([before, Buffer.from(' '), Buffer.from(encode(secret)), Buffer.from(' '), after])
      const asForm = { name: '', fitsHeader: true, encode: (text: string) => Buffer.from(encode(text)) }
      const output = createRedactor(forms).body(given)
      assert.ok(Buffer.isBuffer(output))
      assert.equal(leftOf(output, asForm, secret), undefined, encode(secret))
      assert.equal(leftOf(inPieces(forms, given, at), asForm, secret), undefined, encode(secret))
    }),
    { numRuns: repetitions(1500) },
  )
})

test('bytes without a secret are unchanged, in any chunks', () => {
  const text = fc.array(
    fc.constantFrom('%', '\\', '&#', '=', '\r\n', '\n', '\0', 'u00', '41', 'a', ' ', ';', '"', 'é'),
    {
      maxLength: 300,
    },
  )
  const forms = compileSecrets([new Secret('ya29.A0aBcDeFgHiJkLmNoP')])
  fc.assert(
    fc.property(text, cuts, (pieces, at) => {
      const given = Buffer.from(pieces.join(''))
      assert.deepEqual(createRedactor(forms).body(given), given)
      assert.deepEqual(inPieces(forms, given, at), given)
    }),
    { numRuns: repetitions(1500) },
  )
})

function isCovered(spans: readonly { from: number; to: number }[], from: number, to: number): boolean {
  let end = from
  for (const span of spans) if (span.from <= end) end = Math.max(end, span.to)
  return end >= to
}

test('skipping plain text between escapes misses nothing that a full search finds', () => {
  const plain = [
    'word',
    ' ',
    '"',
    ', ',
    'x'.repeat(15),
    'Ab0+'.repeat(30),
    'Zz9/'.repeat(90),
    '\n',
    '\r\n',
    '\0',
    '\u00e9',
  ]
  const escapes = ['%41', '%25', '\\n', '\\u0041', '\\"', '&amp;', '&#65', '=\r\n', '=', '\\', '%', '&', '=4']
  const piece = fc.oneof(
    fc.constantFrom(...plain, ...escapes).map((text) => () => Buffer.from(text, 'latin1')),
    form.map((one) => (secret: string) => one.encode(secret)),
    fc.tuple(form, fc.nat(40)).map(
      ([one, cut]) =>
        (secret: string) =>
          one.encode(secret).subarray(0, -cut),
    ),
  )
  fc.assert(
    fc.property(token, fc.array(piece, { maxLength: 25 }), fc.boolean(), (secret, pieces, isEnd) => {
      const forms = compileSecrets([new Secret(secret)])
      const given = Buffer.concat(pieces.map((encode) => encode(secret)))
      const range = { bytes: given, from: 0, to: given.length, isEnd }
      const found = findSecrets(forms, range)
      const all = findSecrets({ ...forms, held: anyByte }, range)
      // Behind a base64 form that is cut off, a digit of what follows may begin with the bits that were to come,
      // however it is escaped.
      const lastDigit = ({ from, to }: Span) =>
        /(?:%(?:25)*[\da-f]{2}|=[\da-f]{2}|\\u[\da-f]{4}|&#x?[\da-f]+;|[^])$/i.exec(
          given.toString('latin1', from, to),
        )?.[0] ?? ''
      const missed = all.filter((span) => !isCovered(found, span.from, span.to - lastDigit(span).length))
      assert.deepEqual(missed, [], given.toString('latin1'))
    }),
    { numRuns: repetitions(3000) },
  )
})
