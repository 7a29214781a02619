import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keep } from './keep.ts'

function full(): Map<number, string> {
  const memory = new Map<number, string>()
  for (let key = 0; key < 10_000; key++) keep(memory, key, 'once')
  return memory
}

test('a memory that is full forgets nothing for what it knows already', () => {
  const memory = full()
  keep(memory, 0, 'twice')
  assert.equal(memory.size, 10_000)
  assert.deepEqual([memory.get(0), memory.get(1)], ['twice', 'once'])
})

test('a memory that is full forgets some of what was noted the longest ago', () => {
  const memory = full()
  keep(memory, 0, 'twice')
  keep(memory, 10_000, 'once')
  assert.equal(memory.size, 10_000 - 625 + 1)
  assert.deepEqual([memory.has(1), memory.has(625), memory.has(626)], [false, false, true])
  assert.deepEqual([memory.get(0), memory.get(10_000)], ['twice', 'once'], 'what was noted last stays')
  for (let key = 0; key < 50_000; key++) keep(memory, key, 'again')
  assert.ok(memory.size <= 10_000)
})
