import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shortened, unstacked } from './others-text.ts'

test('text is cut between characters, never within one', () => {
  assert.equal(shortened('abc', 3), 'abc')
  assert.equal(shortened('abcd', 3), 'ab…')
  assert.equal(shortened('👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦', 2), '👩‍👩‍👧‍👦…')
})

test('stacked combining marks are limited, and languages that use some keep theirs', () => {
  assert.equal(unstacked(`Z${'\u0301'.repeat(50)}a`), `Z${'\u0301'.repeat(4)}a`)
  for (const text of ['שָׁלוֹם', 'ที่นี่', 'Việt', 'हिन्दी']) assert.equal(unstacked(text), text)
})
