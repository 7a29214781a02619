import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { blockBytes } from '../platform/scan.ts'
import { beginStarts, nextStart } from './escape-starts.ts'
import { isEscapeStart } from './escapes.ts'

function startsIn(bytes: Buffer, from: number, to: number): number[] {
  const found: number[] = []
  beginStarts(from)
  for (let at = nextStart(bytes, from, to); at < to; at = nextStart(bytes, at + 1, to)) found.push(at)
  return found
}

function oneByOne(bytes: Buffer, from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index).filter(
    (at) => isEscapeStart[bytes[at] ?? 0] === 1,
  )
}

test('every byte that an escape can begin with is found, wherever it stands, and no other', () => {
  const size = 3 * blockBytes
  const texts = [
    Buffer.from(Array.from({ length: 4096 }, (_, index) => index & 0xff)),
    Buffer.alloc(size, 'a'),
    Buffer.alloc(size, 'a\0'),
    Buffer.alloc(size, '%'),
    Buffer.alloc(size, 'a text with a break\nnow and then'),
  ]
  for (const text of texts) assert.deepEqual(startsIn(text, 0, text.length), oneByOne(text, 0, text.length))
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 700 }), fc.nat(700), fc.nat(700), (given, one, other) => {
      const bytes = Buffer.from(given)
      const from = Math.min(one, other, bytes.length)
      const to = Math.min(Math.max(one, other), bytes.length)
      assert.deepEqual(startsIn(bytes, from, to), oneByOne(bytes, from, to))
    }),
  )
})

test('what is jumped over is not found, also where that leads into the next block or beyond it', () => {
  const text = Buffer.alloc(4 * blockBytes, '\\n')
  for (const jump of [1, 2, 3, 12, 255, blockBytes - 1, blockBytes, blockBytes + 1, 2 * blockBytes + 1]) {
    beginStarts(0)
    let at = 0
    while (at < text.length) {
      const found = nextStart(text, at, text.length)
      assert.equal(found, at + (at & 1))
      at = Math.min(found + jump, text.length)
    }
  }
})
