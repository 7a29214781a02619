import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { repetitions } from '../../testkit/repetitions.ts'
import { isJsonText, parseUnambiguousJson } from './json.ts'
import { blockBytes } from './scan.ts'

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('it accepts exactly what JSON.parse accepts', () => {
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

test('it agrees with JSON.parse for any value and any sequence of JSON tokens', () => {
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
    { numRuns: repetitions(3000) },
  )
})

test('invalid UTF-8 and too deep nesting are refused', () => {
  assert.equal(isJsonText(Buffer.from([0x22, 0xff, 0x22])), false)
  assert.equal(isJsonText(Buffer.from([0x22, 0xc0, 0xaf, 0x22])), false)
  const nested = (depth: number) => Buffer.from('['.repeat(depth) + ']'.repeat(depth))
  assert.deepEqual([isJsonText(nested(500)), isJsonText(nested(501))], [true, false])
  assert.deepEqual([isJsonText(nested(3), 3), isJsonText(Buffer.from('[{"a":[{}]}]'), 3)], [true, false])
})

const everyKind = Buffer.from(
  '{"name":[0,-1.5e+10,2E-3,true,false,null],"é漢😀":{"":[]},"\\u00e9\\n\\"\\\\":"a text of more than sixteen bytes"}',
)

/** What JSON.parse says of the bytes, which knows no others than those of UTF-8. */
function parsesBytes(bytes: Buffer): boolean {
  try {
    return parses(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    return false
  }
}

test('truncated JSON is refused, wherever it is cut', () => {
  for (let to = 0; to < everyKind.length; to++) {
    assert.equal(isJsonText(everyKind), true)
    assert.equal(isJsonText(everyKind.subarray(0, to)), false, String(to))
  }
})

test('the result is the same wherever the text is split into chunks', () => {
  const wrong = Buffer.from(everyKind.toString().replace('null', 'nul'))
  for (let shift = 0; shift <= everyKind.length; shift++) {
    const blanks = Buffer.alloc(2 * blockBytes - shift, ' ')
    assert.equal(isJsonText(Buffer.concat([blanks, everyKind])), true, String(shift))
    assert.equal(isJsonText(Buffer.concat([blanks, everyKind.subarray(0, -1)])), false, String(shift))
    assert.equal(isJsonText(Buffer.concat([blanks, wrong])), false, String(shift))
  }
  for (const length of [blockBytes - 3, blockBytes - 2, blockBytes - 1, blockBytes, 3 * blockBytes]) {
    assert.equal(isJsonText(Buffer.from(`"${'a'.repeat(length)}"`)), true, String(length))
    assert.equal(isJsonText(Buffer.from(`"${'a'.repeat(length)}`)), false, String(length))
    assert.equal(isJsonText(Buffer.from(`"${'a'.repeat(length)}\n"`)), false, String(length))
  }
})

test('it agrees with JSON.parse after any bytes were changed, inserted or removed', () => {
  const byte = fc.oneof(fc.constantFrom(...Buffer.from('{}[],:"\\ue-+.01 tfn\n\0\x1f\x7f')), fc.nat(255))
  const change = fc.record({ at: fc.nat(), without: fc.nat(2), bytes: fc.array(byte, { maxLength: 2 }) })
  const texts = fc.oneof(fc.json(), fc.string({ unit: 'binary' })).map((text) => Buffer.from(text))
  const text = fc.oneof(fc.constant(everyKind), texts)
  const padding = fc.constantFrom(0, 7, 15, 16, blockBytes - 20, blockBytes - 1)
  fc.assert(
    fc.property(text, fc.array(change, { maxLength: 3 }), padding, (given, changes, blanks) => {
      let bytes: Buffer = given
      for (const { at, without, bytes: added } of changes) {
        const from = at % (bytes.length + 1)
        bytes = Buffer.concat([bytes.subarray(0, from), Buffer.from(added), bytes.subarray(from + without)])
      }
      const padded = Buffer.concat([Buffer.alloc(blanks, ' '), bytes])
      assert.equal(isJsonText(padded), parsesBytes(padded), bytes.toString('latin1'))
    }),
    { numRuns: repetitions(5000) },
  )
})

test('unambiguous JSON is parsed, and what parsers read differently is not', () => {
  for (const text of [
    ...['1', '"a:b"', '[]', '{"a":{"b":1},"c":[{"b":2}]}', '{"a":"\\":{\\"","b":"\\\\"}', '{"a":1,"A":2}'],
    ...['{"__proto__":{"a":1}}', ' {"a" : "\\u0022:" } '],
  ]) {
    assert.deepEqual(parseUnambiguousJson(text), JSON.parse(text), text)
  }
  const deep = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  assert.ok(parseUnambiguousJson(deep(500)))
  for (const text of [
    ...['{"a":1,"a":1}', '[{"b":{"a":1,"a":2}}]', '{"a":1,"\\u0061":2}', '{"__proto__":1,"__proto__":2}'],
    ...['', '{', '"a', '"\\', '{"a":1}{}', '{"a":1} // a', '{/**/"a":1}', '{"a":1,}', "{'a':1}", '{a:1}', '[NaN]'],
    ...['\ufeff{}', '{"a\u0000":1}', '\u0000', '{"a":1}\u0000', deep(501), '['.repeat(1_000_000)],
    ...[`[${'1,'.repeat(50_000)}1]`, `{"a":1${',"a":1'.repeat(40_000)}}`],
  ]) {
    assert.throws(() => parseUnambiguousJson(text), SyntaxError, text.slice(0, 50))
  }
})

test('no JSON of 1 MiB takes long to be parsed unambiguously', () => {
  const pumps = ['[', '{', '"', '\\', '"\\', ',', ':', '[],', '{},', '1,', '"a":1,', '{"a":']
  for (const pump of pumps) {
    for (const start of ['', '[', '{', '"']) {
      const before = process.cpuUsage()
      assert.throws(() => parseUnambiguousJson(start + pump.repeat(1_048_576 / pump.length)), SyntaxError)
      assert.ok(process.cpuUsage(before).user < 500_000, start + pump)
    }
  }
  const names = Array.from({ length: 49_000 }, (_, at) => `"${at.toString(36)}":1`)
  const before = process.cpuUsage()
  parseUnambiguousJson(`{${names.join()}}`)
  assert.ok(process.cpuUsage(before).user < 500_000)
})
