import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inLine, inLines, safeJson } from './terminal-text.ts'

const escape = '\u001b'

test('terminal control characters are made visible', () => {
  const cases: [string, string][] = [
    [`${escape}[2J`, String.raw`\x1b[2J`],
    ['\u009b31m', String.raw`\x9b31m`],
    ['a\rb\u0008\u007f', String.raw`a\x0db\x08\x7f`],
    ['\u202egpj.exe\u2069', String.raw`\u202egpj.exe\u2069`],
    ['zero\u200bwidth\ufeff\u00ad', String.raw`zero\u200bwidth\ufeff\xad`],
    ['\u{e0041}tag', String.raw`\u{e0041}tag`],
    ['half \ud800', String.raw`half \ud800`],
    ['a\u2028b', String.raw`a\u2028b`],
    ['Zoë 𝕊 日本 👩\u200d💻 می\u200cخواهم', 'Zoë 𝕊 日本 👩\u200d💻 می\u200cخواهم'],
  ]
  for (const [given, shown] of cases) {
    assert.equal(inLine(given), shown)
    assert.equal(inLines(given), shown)
  }
})

test('line breaks and tabs are kept only in multi-line text', () => {
  assert.equal(inLines('one\r\ntwo\tthree\n'), 'one\ntwo\tthree\n')
  assert.equal(inLine('one\n\ttwo'), String.raw`one\x0a\x09two`)
})

test('escaped JSON has the same meaning', () => {
  const value = { note: `\u009b31m\u202e \u{e0041} ${escape} \u007f \ud800`, lines: 'a\nb' }
  const safe = safeJson(JSON.stringify(value, null, 2))
  assert.deepEqual(JSON.parse(safe), value)
  assert.equal(inLines(safe), safe)
})
