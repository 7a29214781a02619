import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quotations, revealed, shortened, unstacked } from './others-text.ts'

test('text is cut between characters, never within one', () => {
  assert.equal(shortened('abc', 3), 'abc')
  assert.equal(shortened('abcd', 3), 'ab…')
  assert.equal(shortened('👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦', 2), '👩‍👩‍👧‍👦…')
})

test('stacked combining marks are limited, and languages that use some keep theirs', () => {
  assert.equal(unstacked(`Z${'\u0301'.repeat(50)}a`), `Z${'\u0301'.repeat(4)}a`)
  for (const text of ['שָׁלוֹם', 'ที่นี่', 'Việt', 'हिन्दी']) assert.equal(unstacked(text), text)
})

test('words of others in a sentence are told apart by their quotation marks', () => {
  assert.deepEqual(quotations('Send “Hello” to “a@b.example”'), [
    { text: 'Send ', isTheirs: false },
    { text: '“Hello”', isTheirs: true },
    { text: ' to ', isTheirs: false },
    { text: '“a@b.example”', isTheirs: true },
  ])
  assert.deepEqual(quotations('Delete it “'), [{ text: 'Delete it “', isTheirs: false }])
})

test('characters that cannot be seen are shown by their name', () => {
  const shows = (text: string, ...parts: ReturnType<typeof revealed>) => {
    assert.deepEqual(revealed(text), parts)
  }
  shows('')
  shows('a\tb\r\nc', 'a\tb\nc')
  shows('pay\u202eeve', 'pay', { hidden: 'U+202E' }, 'eve')
  shows('\u0000a\u2066', { hidden: 'U+0000' }, 'a', { hidden: 'U+2066' })
  shows('\r\u200b\u{e0041}x', { hidden: '3 hidden characters' }, 'x')
  shows('x\u200dy', 'x', { hidden: 'U+200D' }, 'y')
  for (const text of ['👩‍👩‍👧 ❤️', 'می‌خواهم', 'שָׁלוֹם', 'हिन्दी']) shows(text, text)
})
