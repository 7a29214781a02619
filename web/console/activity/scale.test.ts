import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scaleOf } from './scale.ts'

test('a scale ends at a round number that is not below the largest count', () => {
  const ends = [0, 1, 2, 3, 5, 7, 10, 11, 40, 41, 99, 100, 101, 601, 1_000_000]
  assert.deepEqual(
    ends.map((largest) => scaleOf(largest).top),
    [2, 2, 2, 4, 6, 8, 10, 12, 40, 50, 100, 100, 120, 800, 1_000_000],
  )
  assert.deepEqual(scaleOf(11).ticks, [12, 6, 0])
  for (let largest = 0; largest < 2000; largest++) {
    const { top, ticks } = scaleOf(largest)
    assert.ok(top >= largest && ticks.every(Number.isInteger), String(largest))
  }
})
