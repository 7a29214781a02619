/** What a stream holds back must say nothing about the secret to somebody who can place guesses in it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { secretForms } from '../../testkit/secret-forms.ts'
import { Secret } from '../platform/secret.ts'
import { repetitions } from '../../testkit/repetitions.ts'
import { createRedactor } from './redactor.ts'
import { compileSecrets } from './secret-forms.ts'

/** Its longest part is its end: a guess of all but the end has no whole part in it. */
const secret = 'ya29.A0aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789vUend'
const otherSecret = 'xb18-C2zYwVuTsRqPoNmLkJiHgFeDcBa9876543210_.fin!'
assert.equal(secret.length, otherSecret.length)

/** After each byte: how many have gone out in all. */
function watched(given: Buffer, inForce: string): number[] {
  const stream = createRedactor(compileSecrets([new Secret(inForce)])).stream()
  let out = 0
  return Array.from(given, (byte) => (out += stream.push(Buffer.of(byte)).length))
}

test('a partial match is held back like any other text, so timing reveals nothing', () => {
  for (const form of secretForms) {
    const encoded = form.encode(secret)
    for (const length of [1, 2, 5, 8, 15, 16, 20, encoded.length >> 1, encoded.length - 30]) {
      if (length < 1) continue
      const guess = Buffer.concat([Buffer.from('{"a":"'), encoded.subarray(0, length), Buffer.from('","b":1}\n')])
      assert.deepEqual(watched(guess, secret), watched(guess, otherSecret), `${form.name}, ${String(length)}`)
    }
  }
})

test("what is held back depends only on the secret's length, not its content", () => {
  const piece = fc.oneof(
    fc.nat(secret.length).map((length) => secret.slice(0, length % 30)),
    fc.constantFrom(
      ' ',
      '"',
      '\n',
      '\r\n',
      '\n\n',
      '%',
      '\\u0079',
      '=',
      '=\n',
      '&#121;',
      '\0',
      'eWEyOS5BMGFCY0RlRmdI',
      '79613239',
      '121,97,50,',
      '[121, 97',
      ', ',
      ',\n  ',
      '5 ',
    ),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const given = Buffer.from(pieces.join(''), 'latin1')
      assert.deepEqual(watched(given, secret), watched(given, otherSecret))
    }),
    { numRuns: repetitions(500) },
  )
})

test('the secret is held back as long as similar text, then replaced', () => {
  const given = (text: string) => Buffer.from(`"${text}"`)
  const right = watched(given(secret), secret)
  const wrong = watched(given(otherSecret), secret)
  assert.deepEqual(right.slice(0, -1), wrong.slice(0, -1))
  assert.deepEqual([right.at(-1), wrong.at(-1)], ['"[REDACTED]"'.length, secret.length + 2])
})

test('a blank line or the end of an ordinary line releases everything held back', () => {
  const released = [
    'data: hello\n\n',
    'data: hello\r\n\r\n',
    'data: hello\r\r',
    'data: eWEyOS5BMGFCY0RlRmdIaUpr\n\n',
    'data: ya29.A0aBcDeFgHiJkLmNoP\n\n',
    'data: ends in =\n\n',
    '{"a":1}\n',
    '{"a":1}\r\n',
    '200 OK\n',
    'a word ',
    '{"a":"b"',
    'data: 5\n\n',
    'data: 5,\n\n',
    '{"a":5}\n',
    '200\n',
    '1,2,3\n',
    ', ',
  ]
  for (const text of released) {
    const stream = createRedactor(compileSecrets([new Secret(secret)])).stream()
    assert.equal(stream.push(Buffer.from(text)).toString(), text, JSON.stringify(text))
  }
  const held: [string, string][] = [
    ['{"a":"b', 'b'],
    ['a eWEyOS5BMGFCY0RlRmdIaUpr\n', 'eWEyOS5BMGFCY0RlRmdIaUpr\n'],
    ['a word=\r\n', 'word=\r\n'],
    ['a y\0a\0', 'y\0a\0'],
    ['a [121, 97, ', '121, 97, '],
    ['a 121 97 ', '121 97 '],
    ['a [\n  121,\n  97,\n', '121,\n  97,\n'],
  ]
  for (const [text, waits] of held) {
    const stream = createRedactor(compileSecrets([new Secret(secret)])).stream()
    assert.equal(stream.push(Buffer.from(text)).toString() + waits, text, JSON.stringify(text))
  }
})

test('a secret with unusual characters is found across chunks, and a line end releases', () => {
  const unusual = 'it has "quotes", {braces} & spaces'
  for (const inJson of [unusual, JSON.stringify(unusual).slice(1, -1)]) {
    const stream = createRedactor(compileSecrets([new Secret(unusual)])).stream()
    const parts = Array.from(Buffer.from(`{"a":"${inJson}"}\n`), (byte) => stream.push(Buffer.of(byte)))
    assert.equal(Buffer.concat(parts).toString(), '{"a":"[REDACTED]"}\n')
  }
})

test('in an endless run a bounded number of bytes is held back, and all is searched', () => {
  const forms = compileSecrets([new Secret(secret)])
  const redactor = createRedactor(forms)
  const stream = redactor.stream()
  let [sent, out] = [0, 0]
  const send = (chunk: Buffer) => {
    sent += chunk.length
    const passed = stream.push(chunk)
    assert.ok(!passed.includes(secret.slice(4)))
    out += passed.length
  }
  for (let round = 0; round < 300; round++) {
    send(Buffer.from('x'.repeat(97)))
    send(Buffer.from(secret.slice(0, round % secret.length)))
    send(Buffer.from(secret.slice(round % secret.length)))
    const replaced = redactor.count() * (secret.length - '[REDACTED]'.length)
    assert.ok(sent - out - replaced <= 2 * forms.longestForm + secret.length, String(sent - out - replaced))
  }
  out += stream.end().length
  assert.equal(redactor.count(), 300)
  assert.equal(out, 300 * (97 + '[REDACTED]'.length))
})

test('a secret is replaced once, wherever the buffer limit falls', () => {
  const forms = compileSecrets([new Secret(secret)])
  for (let before = forms.longestForm - secret.length - 2; before < forms.longestForm + 4; before++) {
    const redactor = createRedactor(forms)
    const stream = redactor.stream()
    const given = Buffer.from('x'.repeat(before) + secret + 'y'.repeat(2 * forms.longestForm))
    const parts = Array.from(given, (byte) => stream.push(Buffer.of(byte)))
    const output = Buffer.concat([...parts, stream.end()]).toString()
    assert.equal(output, `${'x'.repeat(before)}[REDACTED]${'y'.repeat(2 * forms.longestForm)}`)
    assert.equal(redactor.count(), 1)
  }
})
