import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoizeByObject, setBounded } from './memoize.ts'

function full(): Map<number, string> {
  const map = new Map<number, string>()
  for (let key = 0; key < 10_000; key++) setBounded(map, key, 'once')
  return map
}

test('a full cache evicts nothing when a known entry is written again', () => {
  const map = full()
  setBounded(map, 0, 'twice')
  assert.equal(map.size, 10_000)
  assert.deepEqual([map.get(0), map.get(1)], ['twice', 'once'])
})

test('a full cache evicts the entries that were written the longest ago', () => {
  const map = full()
  setBounded(map, 0, 'twice')
  setBounded(map, 10_000, 'once')
  assert.equal(map.size, 10_000 - 625 + 1)
  assert.deepEqual([map.has(1), map.has(625), map.has(626)], [false, false, true])
  assert.deepEqual([map.get(0), map.get(10_000)], ['twice', 'once'], 'the newest entries stay')
  for (let key = 0; key < 50_000; key++) setBounded(map, key, 'again')
  assert.ok(map.size <= 10_000)
})

test('the result for an object is computed once', () => {
  let times = 0
  const compute = memoizeByObject<{ schema: object }, { times: number }>(
    () => ({ times: (times += 1) }),
    ({ schema }) => schema,
  )
  const [one, other] = [{}, {}]
  assert.deepEqual(
    [one, one, other, one].map((schema) => compute({ schema }).times),
    [1, 1, 2, 1],
  )
})
