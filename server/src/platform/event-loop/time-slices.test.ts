import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { nextSlice } from './time-slices.ts'

test('one slice of all long work runs every few ticks of the event loop, first in, first out', async () => {
  const slices: string[] = []
  const work = async (name: string) => {
    for (let slice = 0; slice < 3; slice++) {
      await nextSlice()
      slices.push(name)
    }
  }
  const all = Promise.all(['a', 'b', 'c'].map(work))
  let turnsWithout = 4
  for (let turn = 0; turn < 60; turn++) {
    const before = slices.length
    await nextTurn()
    if (slices.length === before) turnsWithout++
    else {
      assert.equal(slices.length, before + 1)
      assert.ok(turnsWithout >= 4, `${turnsWithout} turns between two slices`)
      turnsWithout = 0
    }
  }
  await all
  assert.deepEqual(slices, ['a', 'b', 'c', 'a', 'b', 'c', 'a', 'b', 'c'])
})

test('work that arrives after a pause starts without delay', async () => {
  await nextSlice()
  for (let turn = 0; turn < 10; turn++) await nextTurn()
  let isBegun = false
  void nextSlice().then(() => (isBegun = true))
  await nextTurn()
  await nextTurn()
  assert.ok(isBegun)
})
