import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/compile'
import { DisplayName, toDisplayName } from './schema.ts'

const name = Compile(DisplayName({ minLength: 1, maxLength: 200 }))

test('ordinary names are valid display names', () => {
  for (const text of ['a', 'Mia’s agent (2)', '東京', 'علي', 'می‌خواهم', '👩‍💻', '…', '7', ' padded ', 'e\u0301']) {
    assert.ok(name.Check(text), text)
  }
})

test('a display name has no characters that reorder text', () => {
  for (const mark of ['\u061c', '\u200e', '\u200f', '\u202a', '\u202e', '\u2066', '\u2069', '\u2028', '\n', '\u0085']) {
    assert.ok(!name.Check(`a${mark}b`), JSON.stringify(mark))
  }
})

test('a display name has a visible character', () => {
  for (const text of [
    '',
    ' ',
    '\u00a0\u3000',
    '\u200b',
    '\u200d',
    '\ufeff',
    '\u00ad',
    '\u3164',
    '\u2800',
    '\u{e0041}',
  ]) {
    assert.ok(!name.Check(text), JSON.stringify(text))
  }
})

test('a foreign name is cleaned into a display name, or refused', () => {
  assert.equal(toDisplayName(' Ada\u202e\n Lovelace\u0000 ', 200), 'Ada Lovelace')
  assert.equal(toDisplayName('می‌خواهم', 200), 'می‌خواهم')
  for (const text of ['', ' ', '\u202e', '\u3164', '\ud83d']) assert.equal(toDisplayName(text, 200), undefined)
  const cut = toDisplayName(`${'x'.repeat(199)}😀`, 200) ?? ''
  assert.equal(cut, 'x'.repeat(199))
  for (const text of ['a\u2066b', 'y'.repeat(300), 'a\ud800b', '\u2028z']) {
    assert.ok(name.Check(toDisplayName(text, 200)), JSON.stringify(text))
  }
})
