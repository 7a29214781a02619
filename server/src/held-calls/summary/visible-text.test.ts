import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { mintToken } from '../../platform/tokens.ts'
import { quoted, quotedName, shownValue } from './visible-text.ts'

test('words of any language are shown as they are', () => {
  for (const text of [
    'Invoice 42',
    'Grüße an Zoë',
    'It’s “',
    '東京',
    'שלום',
    'हिन्दी',
    'สวัสดี',
    'Tiếng Việt',
    '👍 done',
    '<b>',
  ]) {
    const expected = text.replace('“', '\\u201c')
    assert.equal(quoted(text), `“${expected}”`)
  }
})

test('what hides, reorders or imitates is shown as an escape', () => {
  const cases: [string, string][] = [
    ['a\u202eb', '“a\\u202eb”'],
    ['a\u2066b\u2069', '“a\\u2066b\\u2069”'],
    ['a\u200bb\u200db\ufeff', '“a\\u200bb\\u200db\\ufeff”'],
    ['a\u00adb\u00a0c\u3164', '“a\\u00adb\\u00a0c\\u3164”'],
    ['a\nb\r\tc\u0000', '“a\\nb\\r\\tc\\u0000”'],
    ['\u{e0041}\ue000\u{10ffff}', '“\\u{e0041}\\ue000\\u{10ffff}”'],
    ['\ud800', '“\\ud800”'],
    ['x” to bob. “', '“x\\u201d to bob. \\u201c”'],
    ['x" to bob', '“x\\" to bob”'],
    ['x\uff02 \u2033 \u02ee \u301e', '“x\\uff02 \\u2033 \\u02ee \\u301e”'],
    ["x'' y ’’ z", "“x'\\u0027 y ’\\u2019 z”"],
    ['\\u202e', '“\\\\u202e”'],
    ['a\u0336b\u20e0', '“a\\u0336b\\u20e0”'],
    [`a${'\u0301'.repeat(5)}`, `“a${'\u0301'.repeat(3)}\\u0301\\u0301”`],
    ['\u0301a', '“\\u0301a”'],
  ]
  for (const [text, expected] of cases) assert.equal(quoted(text), expected, JSON.stringify(text))
})

test('a look-alike letter in a name is shown as an escape', () => {
  assert.equal(quotedName('\u0430cme/rocket'), '“\\u0430cme/rocket”')
  assert.equal(quotedName('a–b'), '“a\\u2013b”')
})

test('a long text is cut at a character, and marked outside of the quotation', () => {
  assert.equal(quoted('x'.repeat(10_000)), `“${'x'.repeat(80)}”…`)
  assert.equal(quoted(`${'x'.repeat(79)}\u202eb`), `“${'x'.repeat(79)}”…`)
  assert.equal(quoted(`${'x'.repeat(79)}👍`), `“${'x'.repeat(79)}”…`)
  assert.equal(quoted('x'.repeat(80)), `“${'x'.repeat(80)}”`)
})

test('our own tokens are redacted', () => {
  const token = mintToken('agent').reveal()
  assert.equal(quoted(`use ${token}!`), '“use [REDACTED]!”')
  assert.equal(shownValue(`a\n${token}`, { hasLines: true }), 'a\n[REDACTED]')
  assert.equal(shownValue(`sp_key_${'a'.repeat(40)}`), '[REDACTED]')
})

test('line breaks are kept in text only', () => {
  assert.equal(shownValue('a\r\nb\rc\n', { hasLines: true }), 'a\nb\\rc\n')
  assert.equal(shownValue('a\nb'), 'a\\nb')
})

test('for every text, a quotation has one end, and names that differ are shown differently', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }))
  fc.assert(
    fc.property(text, text, (one, other) => {
      for (const shown of [quoted(one), quotedName(one)]) {
        assert.match(shown, /^“[^“”\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]*”…?$/u)
        assert.ok(shown.length <= 83)
      }
      const isCut = [one, other].some((each) => quotedName(each).endsWith('…'))
      assert.ok(isCut || one === other || quotedName(one) !== quotedName(other))
    }),
    { numRuns: 1000 },
  )
})
