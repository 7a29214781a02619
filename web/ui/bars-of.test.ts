import assert from 'node:assert/strict'
import { test } from 'node:test'
import { barsOf } from './bars-of.ts'

test('the largest bar fills the height, zero has none, and small values stay visible', () => {
  assert.deepEqual(barsOf([], 30), [])
  assert.deepEqual(barsOf([0, 0], 30), [0, 0])
  assert.deepEqual(barsOf([0, 1, 2], 30), [0, 15, 30])
  assert.deepEqual(barsOf([1, 9000], 30), [3, 30])
})
