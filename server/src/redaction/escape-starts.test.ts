import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { blockBytes } from '../platform/scan.ts'
import { repetitions } from '../../testkit/repetitions.ts'
import { beginStarts, nextStart } from './escape-starts.ts'
import { isEscapeStart, readEscape } from './escapes.ts'

const all = new Uint8Array(256).fill(1)

function startsIn(bytes: Buffer, from: number, to: number, wanted = all): number[] {
  const found: number[] = []
  beginStarts(from, wanted)
  for (let at = nextStart(bytes, from, to); at < to; at = nextStart(bytes, at + 1, to)) found.push(at)
  return found
}

function escapesIn(bytes: Buffer, from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index).filter(
    (at) => readEscape(bytes, at, from, to) !== 0,
  )
}

/** None that is an escape is missing, and nothing else is named than what one could begin with. */
function check(bytes: Buffer, from: number, to: number): void {
  const found = new Set(startsIn(bytes, from, to))
  for (const at of escapesIn(bytes, from, to)) assert.ok(found.has(at), String(at))
  for (const at of found) assert.equal(isEscapeStart[bytes[at] ?? 0], 1)
  assert.deepEqual(
    [...found],
    [...found].sort((one, other) => one - other),
  )
  const quotes = escapesIn(bytes, from, to).filter((at) => bytes[at] === 0x5c && bytes[at + 1] === 0x22)
  const withoutQuotes = new Set(startsIn(bytes, from, to, new Uint8Array(256)))
  assert.deepEqual(new Set([...withoutQuotes, ...quotes]), found)
}

test('every escape is found, wherever it starts', () => {
  const size = 2 * blockBytes + 100
  const texts = [
    'a',
    'a\0',
    '%41',
    'a\n',
    'a\r\n',
    '}\n\n',
    '=\r\n',
    '\\\\"',
    '\\"',
    'a text with a break\nnow and then',
  ]
  for (const text of texts) check(Buffer.alloc(size, text), 0, size)
  check(Buffer.from(Array.from({ length: 4096 }, (_, index) => index & 0xff)), 0, 4096)
  const piece = fc.constantFrom('a', '\n', '\r\n', '\\', '"', '=', '%41', '&amp;', ' ', '\0', 'a'.repeat(15))
  const text = fc.oneof(fc.uint8Array({ maxLength: 700 }), fc.array(piece, { maxLength: 300 }))
  fc.assert(
    fc.property(text, fc.nat(700), fc.nat(700), (given, one, other) => {
      const bytes = Array.isArray(given) ? Buffer.from(given.join('')) : Buffer.from(given)
      const from = Math.min(one, other, bytes.length)
      check(bytes, from, Math.min(Math.max(one, other), bytes.length))
    }),
    { numRuns: repetitions(2000) },
  )
})

test('skipped bytes are not searched, also across block boundaries', () => {
  const text = Buffer.alloc(4 * blockBytes, '\\n')
  for (const jump of [1, 2, 3, 12, 255, blockBytes - 1, blockBytes, blockBytes + 1, 2 * blockBytes + 1]) {
    beginStarts(0, all)
    let at = 0
    while (at < text.length) {
      const found = nextStart(text, at, text.length)
      assert.equal(found, at + (at & 1))
      at = Math.min(found + jump, text.length)
    }
  }
})
