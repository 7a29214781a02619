import assert from 'node:assert/strict'
import { test } from 'node:test'
import { turnsEnd } from './turns-end.ts'

test('what one turn brings goes on together, step by step', async () => {
  const steps: string[] = []
  const work = async (name: string) => {
    await turnsEnd()
    steps.push(`first of ${name}`)
    await Promise.resolve()
    steps.push(`second of ${name}`)
  }
  const one = work('one')
  // As by a socket that is read after another in the same turn.
  const { promise, resolve } = Promise.withResolvers<undefined>()
  process.nextTick(() => {
    void work('other').then(() => {
      resolve(undefined)
    })
  })
  await Promise.all([one, promise])
  assert.deepEqual(steps, ['first of one', 'first of other', 'second of one', 'second of other'])
})

test('what the next turn brings waits for its own end', async () => {
  await turnsEnd()
  let isOver = false
  const next = turnsEnd().then(() => (isOver = true))
  await Promise.resolve()
  assert.equal(isOver, false)
  await next
})

test('one that fails takes nobody with it', async () => {
  const failing = turnsEnd().then(() => {
    throw new Error('mine')
  })
  const other = turnsEnd().then(() => 'goes on')
  await assert.rejects(failing, /mine/)
  assert.equal(await other, 'goes on')
})
