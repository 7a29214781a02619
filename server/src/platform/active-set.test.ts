import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createActiveSet } from './active-set.ts'

test('an item is in the set until it is removed, once, in any order', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat())), (steps) => {
      const crowd = createActiveSet<number>()
      const there = new Map<number, () => void>()
      let next = 0
      for (const [isEntering, which] of steps) {
        const numbers = [...there.keys()]
        const leaving = numbers[which % Math.max(1, numbers.length)]
        if (isEntering || leaving === undefined) there.set(next, crowd.add(next++))
        else {
          const leave = there.get(leaving)
          leave?.()
          // A second time is none.
          leave?.()
          there.delete(leaving)
        }
        assert.deepEqual(new Set(crowd.all()), new Set(there.keys()))
        assert.equal(crowd.all().length, there.size)
      }
    }),
  )
})
