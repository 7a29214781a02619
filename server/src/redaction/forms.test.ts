/** Each form, where it usually stands, as a body, as a header's value and byte by byte. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leftOf, secretForms } from '../../testkit/secret-forms.ts'
import type { SecretForm } from '../../testkit/secret-forms.ts'
import { Secret } from '../platform/secret.ts'
import { createRedactor } from './redactor.ts'
import { compileSecrets } from './secret-forms.ts'

const secrets = [
  'ya29.A0aBcDeFgHiJkLmNoP',
  'ghp_0123456789abcdefghijABCDEFGHIJ012345',
  'a+b/c=d.e_f-g~h:i|j!k@l$',
  `eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.${'aB3_-xY9.'.repeat(30)}`,
  'ends-in-padding0==',
  '~~~.???_~~~-in-base64-with-both-signs',
  '0123456789abcdef',
]

/** What stands beside it may look like the start of an escape that goes on in it. */
const places: [string, string][] = [
  ['', ''],
  ['{"token":"', '"}'],
  ['?access_token=', '&x=y'],
  ['100%', 'ab '],
  ['\\', '41'],
  ['a=', '=41'],
  ['\\u', '\n\n'],
  ['&#x', ';'],
]

function everyForm(check: (given: Buffer, at: { form: SecretForm; secret: string }) => void, inPlaces = places): void {
  for (const secret of secrets) {
    for (const form of secretForms) {
      for (const [before, after] of inPlaces) {
        check(Buffer.concat([Buffer.from(before), form.encode(secret), Buffer.from(after)]), { form, secret })
      }
    }
  }
}

function redactorFor(secret: string) {
  return createRedactor(formsOf.get(secret) ?? compileSecrets([]))
}

const formsOf = new Map(secrets.map((secret) => [secret, compileSecrets([new Secret(secret)])]))

function isMarked(output: Buffer): boolean {
  const text = output.toString('latin1').replaceAll('\0', '')
  return text.includes('[REDACTED]') || /91[, ]82[, ]69[, ]68[, ]65[, ]67[, ]84[, ]69[, ]68[, ]93/.test(text)
}

test('no form of a secret is left anywhere in a body', () => {
  everyForm((given, { form, secret }) => {
    const output = redactorFor(secret).body(given)
    assert.ok(Buffer.isBuffer(output))
    assert.equal(leftOf(output, form, secret), undefined, `${form.name}: ${output.toString('latin1')}`)
    assert.ok(isMarked(output), form.name)
  })
})

test('no form of a secret is left in a header value', () => {
  everyForm((given, { form, secret }) => {
    if (!form.fitsHeader) return
    const output = Buffer.from(redactorFor(secret).text(given.toString('latin1')), 'latin1')
    assert.equal(leftOf(output, form, secret), undefined, `${form.name}: ${output.toString('latin1')}`)
  })
})

test('a body streamed byte by byte gives the same result', () => {
  everyForm(
    (given, { form, secret }) => {
      const stream = redactorFor(secret).stream()
      const parts = Array.from(given, (byte) => stream.push(Buffer.of(byte)))
      const streamed = Buffer.concat([...parts, stream.end()])
      assert.deepEqual(streamed, redactorFor(secret).body(given), form.name)
    },
    places.slice(0, 3),
  )
})

test('a form cut off by the end is redacted if at most 16 characters are missing', () => {
  const secret = secrets[1] ?? ''
  for (const missing of [1, 8, 16]) {
    const cut = secret.slice(0, -missing)
    for (const form of secretForms) {
      // Base64, lists and lines are cut in their own characters.
      if (/base64|lines|breaks|mark|decimal/.test(form.name)) continue
      const output = redactorFor(secret).body(Buffer.concat([Buffer.from('see "'), form.encode(cut)]))
      assert.ok(Buffer.isBuffer(output))
      assert.equal(
        leftOf(output, form, cut),
        undefined,
        `${form.name}, ${String(missing)}: ${output.toString('latin1')}`,
      )
    }
  }
  const base64 = Buffer.from(secret).toString('base64')
  for (const missing of [1, 2, 3, 11, 20]) {
    assert.equal(redactorFor(secret).text(base64.slice(0, -missing)), '[REDACTED]', String(missing))
  }
  const list = Buffer.from(secret).join(', ')
  for (let missing = 1; missing < 50; missing++) {
    const output = redactorFor(secret).text(`[${list.slice(0, -missing)}`)
    assert.match(output, /^\[91,82,69,68,65,67,84,69,68,93,? ?$/, String(missing))
  }
  for (const end of ['%', '%4', '\\', '\\u00', '&#', '&#x4', '=', '=4']) {
    assert.equal(redactorFor(secret).text(secret.slice(0, 30) + end), '[REDACTED]', end)
  }
})

test('with more missing, or fewer than 16 characters present, it is not redacted', () => {
  const secret = secrets[1] ?? ''
  for (const text of [secret.slice(0, -17), `${secret.slice(0, -1)} `, secret.slice(0, 15)]) {
    assert.equal(redactorFor(secret).text(text), text)
  }
  const short = secrets[0] ?? ''
  assert.equal(redactorFor(short).text(short.slice(0, 15)), short.slice(0, 15))
  assert.equal(redactorFor(short).text(short.slice(0, 16)), '[REDACTED]')
})

test('in UTF-16 and UTF-32 the replacement has the same encoding', () => {
  const secret = secrets[0] ?? ''
  const text = (inside: string) => Buffer.from(`«${inside}» and on`, 'utf16le')
  const big = (inside: string) => text(inside).swap16()
  for (const encode of [text, big]) {
    const output = redactorFor(secret).body(encode(secret))
    assert.deepEqual(output, encode('[REDACTED]'))
    const stream = redactorFor(secret).stream()
    const parts = Array.from(encode(secret), (byte) => stream.push(Buffer.of(byte)))
    assert.deepEqual(Buffer.concat([...parts, stream.end()]), encode('[REDACTED]'))
  }
})

test('base64 characters that the secret shares with its neighbours are redacted too', () => {
  const secret = secrets[0] ?? ''
  const cases: [string, string, string][] = [
    ['', '', '[REDACTED]'],
    ['Bearer ', '', 'QmVhcmVyI[REDACTED]'],
    ['user:', '\n', 'dXNlcj[REDACTED]o='],
    ['abc', 'abc', 'YWJj[REDACTED]hYmM='],
  ]
  for (const [before, after, expected] of cases) {
    const given = Buffer.from(`${before}${secret}${after}`).toString('base64')
    assert.equal(redactorFor(secret).text(given), expected, `${given} ${before}`)
  }
})

test('a secret that looks like escapes is found, but its decoded form is not', () => {
  const shown = (secret: string, text: string) => {
    const output = createRedactor(compileSecrets([new Secret(secret)])).body(Buffer.from(text))
    assert.ok(Buffer.isBuffer(output))
    return output.toString()
  }
  for (const secret of ['      \\ =69     ', '%41%42%43%44%45%46', 'abc=41=42=43=44=', '&#65;&#66;&#67;abc']) {
    for (const text of [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]) {
      assert.equal(shown(secret, `{"a":"${text}"}`), '{"a":"[REDACTED]"}', text)
    }
  }
  assert.equal(shown('%41%42%43%44%45%46', 'ABCDEF and A%42CDEF'), 'ABCDEF and A%42CDEF')
})
