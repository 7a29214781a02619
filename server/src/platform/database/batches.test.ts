import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countTurns } from '../../../testkit/turns.ts'
import { inBatches } from './batches.ts'

test('of any number of batch jobs one batch runs per tick of the event loop', async () => {
  const turns = countTurns()
  const batches = new Map<number, number>()
  const work = async () => {
    let left = 20
    await inBatches(() => {
      // The first is done at once.
      if (left < 20) batches.set(turns.now(), (batches.get(turns.now()) ?? 0) + 1)
      return Promise.resolve(--left === 0 ? 'done' : 'more')
    })
  }
  await Promise.all(Array.from({ length: 8 }, work))
  turns.end()
  const counts = [...batches.values()]
  const sum = counts.reduce((all, some) => all + some, 0)
  assert.equal(sum, 8 * 19)
  assert.ok(Math.max(...counts) <= 2, 'two where one turn is counted in the middle of it')
})
