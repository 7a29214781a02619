import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import { createCatchUp } from './catch-up.ts'

function watched() {
  const asked: string[] = []
  const open = new Map<string, PromiseWithResolvers<undefined>>()
  const catchUp = createCatchUp(
    (key) => {
      asked.push(key)
      const answer = Promise.withResolvers<undefined>()
      open.set(key, answer)
      return answer.promise
    },
    () => Promise.resolve(),
  )
  const answer = async (key: string, problem?: Error) => {
    if (problem) open.get(key)?.reject(problem)
    else open.get(key)?.resolve(undefined)
    await turn()
  }
  return { asked, catchUp, answer }
}

test('a change during a request triggers one more request after it', async () => {
  const { asked, catchUp, answer } = watched()
  catchUp(['grants'])
  for (let changes = 0; changes < 100; changes++) catchUp(['grants'])
  assert.deepEqual(asked, ['grants'])
  await answer('grants')
  assert.deepEqual(asked, ['grants', 'grants'])
  await answer('grants')
  assert.deepEqual(asked, ['grants', 'grants'])
  catchUp(['grants'])
  assert.equal(asked.length, 3)
})

test('a slow or failed request does not block others', async () => {
  const { asked, catchUp, answer } = watched()
  catchUp(['activity', 'grants'])
  catchUp(['activity'])
  await answer('grants')
  catchUp(['grants'])
  assert.deepEqual(asked, ['activity', 'grants', 'grants'])
  await answer('activity', new Error('away'))
  assert.deepEqual(asked, ['activity', 'grants', 'grants', 'activity'])
})
