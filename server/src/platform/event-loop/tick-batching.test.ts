import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeEach, test } from 'node:test'
import { endOfTick } from './tick-batching.ts'

// Start each test in the state after a tick with several calls.
beforeEach(async () => {
  void endOfTick()
  void endOfTick()
  await nextTurn()
})

test('calls of one tick take each step together', async () => {
  const steps: string[] = []
  const work = async (name: string) => {
    await endOfTick()
    steps.push(`first of ${name}`)
    await Promise.resolve()
    steps.push(`second of ${name}`)
  }
  const one = work('one')
  // Like a socket that is read after another one in the same tick.
  const { promise, resolve } = Promise.withResolvers<undefined>()
  process.nextTick(() => {
    void work('other').then(() => {
      resolve(undefined)
    })
  })
  await Promise.all([one, promise])
  assert.deepEqual(steps, ['first of one', 'first of other', 'second of one', 'second of other'])
})

test('calls of the next tick wait for the end of that tick', async () => {
  await endOfTick()
  let isOver = false
  const next = endOfTick()?.then(() => (isOver = true))
  await Promise.resolve()
  assert.equal(isOver, false)
  await next
  assert.ok(isOver)
})

test('a call that fails does not affect the others', async () => {
  const failing = Promise.resolve(endOfTick()).then(() => {
    throw new Error('mine')
  })
  const other = Promise.resolve(endOfTick()).then(() => 'goes on')
  await assert.rejects(failing, /mine/)
  assert.equal(await other, 'goes on')
})

test('after many ticks with a single call nothing waits, until a tick has several again', async () => {
  for (let turn = 0; turn < 256; turn++) await endOfTick()
  assert.equal(endOfTick(), undefined)
  await nextTurn()
  assert.equal(endOfTick(), undefined)
  assert.equal(endOfTick(), undefined, 'the second of a turn: only the next one knows')
  await nextTurn()
  assert.ok(endOfTick())
  await nextTurn()
})
