/** The worst texts cost a bounded number of steps a byte. Steps are counted by watching what is read, not by a clock. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Secret } from '../platform/secret.ts'
import { compileSearch, search } from './block-search.ts'
import { findInLists } from './decimal-lists.ts'
import { anyByte, heldFrom, usualBytes } from './held-back.ts'
import { patternsOf } from './pattern.ts'
import { compileSecrets } from './secret-forms.ts'
import { createView, unescaped, unescapeInto } from './unescape.ts'

/** The same bytes, and how often one was read. */
function counted<T extends Uint8Array>(bytes: T): { bytes: T; reads: () => number } {
  let reads = 0
  const watched = new Proxy(bytes, {
    get: (target, key) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) reads++
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  return { bytes: watched, reads: () => reads }
}

const size = 10_000
const repeated = (text: string) => Buffer.from(text.repeat(Math.ceil(size / text.length)).slice(0, size))

test('near misses are compared in linear time, however long the secret is', () => {
  for (const length of [200, 4000]) {
    const secrets = [
      `${'a'.repeat(length)}b`,
      `${'ab'.repeat(length / 2)}c`,
      `eyJhbGciOiJSUzI1NiJ9.${'z'.repeat(length)}y`,
    ]
    for (const secret of secrets) {
      const [plain] = patternsOf(secret)
      assert.ok(plain)
      const one = compileSearch([plain])
      const [fold = counted(plain.fold), ...others] = one.patterns.folds.map(counted)
      const folds = [fold, ...others].map(({ bytes }) => bytes)
      const texts = [secret.slice(0, -1), secret.slice(0, 25), secret.slice(0, -3), 'a', 'ab', 'z']
      for (const text of texts) {
        const before = fold.reads()
        const bytes = repeated(text)
        const watched = { ...one, patterns: { ...one.patterns, folds } }
        search(watched, { bytes, from: 0, to: size, isEnd: false }, false, () => undefined)
        const perByte = (fold.reads() - before) / size
        // A start is compared at once over 16 bytes, and from there on only where nobody was yet.
        assert.ok(perByte < 22, `${String(length)} ${text.slice(0, 30)}: ${String(perByte)}`)
      }
    }
  }
})

test('valid and invalid escapes are read a bounded number of times', () => {
  const wanted = new Uint8Array(256).fill(1)
  const texts = [
    '\\u0041',
    '%41',
    '%25',
    '\\',
    '\\\\u',
    '%',
    '&',
    '&a',
    '&aaaaaaaaaa',
    '&#',
    '&#x',
    '&#0000000000',
    '&#65',
    '=',
    '=\n',
  ]
  for (const text of [
    ...texts,
    '=\r',
    'a\n',
    'a\r\n',
    '\n',
    '\r',
    '\0',
    'a\0',
    '\\u',
    '\\ud83d',
    '\\ud83d\\u',
    '\\x',
    '\\3',
    '\\33',
  ]) {
    const { bytes, reads } = counted(repeated(text))
    for (const held of [usualBytes, anyByte]) {
      const before = reads()
      unescapeInto(createView(), bytes, 0, size, { reach: size, held, wanted })
      const perByte = (reads() - before) / size
      assert.ok(perByte < 15, `${JSON.stringify(text)}: ${perByte}`)
    }
  }
})

test('held-back bytes are not all read again with each chunk', () => {
  const longestForm = size
  for (const text of [
    'a',
    'aaaaaaaaaaaaaaaaaaaa\n',
    '=\r\n',
    '\r',
    '\n',
    ' ',
    ',',
    '1, ',
    '115,\n  ',
    '1,\r\n\r\n',
    ',\n',
  ]) {
    const { bytes, reads } = counted(repeated(text))
    let known = 0
    for (let to = 1; to <= size; to++) {
      known = heldFrom(bytes, { known, fresh: to - 1, to, most: 2 * longestForm }, { held: usualBytes, longestForm })
    }
    assert.ok(reads() / size < 80, `${JSON.stringify(text)}: ${String(reads() / size)}`)
  }
})

test('lists of numbers and similar text are read a bounded number of times', () => {
  const { search: forms } = compileSecrets([new Secret('ya29.A0aBcDeFgHiJkLmNoP')])
  assert.ok(forms)
  for (const text of [
    '121,97,',
    '121, 97, ',
    '1',
    '1 ',
    ' ',
    ',',
    '\n',
    ',\n',
    '999,',
    '121,\n  ',
    'a1,',
    `1${' '.repeat(80)}`,
  ]) {
    const { bytes, reads } = counted(repeated(text))
    findInLists(forms, { bytes, from: 0, to: size, isEnd: true }, () => undefined)
    assert.ok(reads() / size < 80, `${JSON.stringify(text)}: ${String(reads() / size)}`)
  }
})

test('a secret of nested escapes is decoded to the same depth as any text', () => {
  assert.equal([...unescaped('%25252541')].at(-1), 'A')
  assert.equal([...unescaped(`%${'25'.repeat(50_000)}`)].at(-1), `%${'25'.repeat(49_995)}`)
})
