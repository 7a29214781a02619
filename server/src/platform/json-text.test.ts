import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isJsonText } from './json-text.ts'

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('it takes what JSON.parse takes, and nothing else', () => {
  const texts = [
    '0',
    '-0',
    '01',
    '1.',
    '.5',
    '1e5',
    '1E+5',
    '1e',
    '-',
    '+1',
    '1e-',
    'NaN',
    'tru',
    'true',
    'truex',
    'null ',
  ]
  texts.push(
    '',
    ' ',
    '\t\n\r 1 \t',
    '\u00a01',
    '\ufeff1',
    '"',
    '"\\"',
    '"\\u12g4"',
    '"\\u1234"',
    '"\\u123',
    '"\\x"',
    '"\n"',
  )
  texts.push('[]', '[ ]', '[1,]', '[,1]', '[1 2]', '[[],[[]]]', '[}', '{]', '{}', '{ }', '{"a":1}', '{"a" : 1 , "b":2}')
  texts.push(
    '{"a":1,}',
    '{,}',
    '{"a"}',
    '{"a":}',
    '{a:1}',
    '{"a":1 "b":2}',
    '{"a":[{"b":[]}]}',
    '[1]]',
    '{}{}',
    '"a""b"',
  )
  texts.push(
    '[',
    '{',
    '{"a":',
    '{"a":1',
    '[1',
    '[true,false,null]',
    '[truefalse]',
    '"\u007f\u2028é漢😀"',
    "'a'",
    '"\u0000"',
  )
  for (const text of texts) assert.equal(isJsonText(Buffer.from(text)), parses(text), JSON.stringify(text))
})

test('for any value, and for any text made of the pieces of JSON, it agrees with JSON.parse', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(4), (value, indent) => {
      assert.ok(isJsonText(Buffer.from(JSON.stringify(value, null, indent))))
    }),
  )
  const pieces = [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '"a"',
    '1',
    '-',
    '.',
    'e',
    '0',
    'true',
    'null',
    ' ',
    '\\',
    '\\u00e9',
    'é',
  ]
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 12 }), (parts) => {
      const text = parts.join('')
      assert.equal(isJsonText(Buffer.from(text)), parses(text), text)
    }),
    { numRuns: 3000 },
  )
})

test('bytes that are not UTF-8 are no JSON, and neither is what is nested too deeply', () => {
  assert.equal(isJsonText(Buffer.from([0x22, 0xff, 0x22])), false)
  assert.equal(isJsonText(Buffer.from([0x22, 0xc0, 0xaf, 0x22])), false)
  const nested = (depth: number) => Buffer.from('['.repeat(depth) + ']'.repeat(depth))
  assert.deepEqual([isJsonText(nested(500)), isJsonText(nested(501))], [true, false])
  assert.deepEqual([isJsonText(nested(3), 3), isJsonText(Buffer.from('[{"a":[{}]}]'), 3)], [true, false])
})
