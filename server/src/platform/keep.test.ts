import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keep } from './keep.ts'

test('a memory that is full forgets what was noted first, and nothing for what it knows already', () => {
  const memory = new Map<number, string>()
  for (let key = 0; key < 10_000; key++) keep(memory, key, 'once')
  keep(memory, 9_999, 'twice')
  assert.equal(memory.size, 10_000)
  assert.equal(memory.get(0), 'once')
  keep(memory, 10_000, 'once')
  assert.equal(memory.size, 10_000)
  assert.deepEqual([memory.has(0), memory.has(1), memory.get(9_999)], [false, true, 'twice'])
})
