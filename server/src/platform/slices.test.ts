import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { nextSlice } from './slices.ts'

test('of all long work one slice runs in each turn of the event loop, each work in its turn', async () => {
  const slices: string[] = []
  const work = async (name: string) => {
    for (let slice = 0; slice < 3; slice++) {
      await nextSlice()
      slices.push(name)
    }
  }
  const all = Promise.all(['a', 'b', 'c'].map(work))
  for (let turn = 0; turn < 20; turn++) {
    const before = slices.length
    await nextTurn()
    assert.ok(slices.length <= before + 1)
  }
  await all
  assert.deepEqual(slices, ['a', 'b', 'c', 'a', 'b', 'c', 'a', 'b', 'c'])
})
