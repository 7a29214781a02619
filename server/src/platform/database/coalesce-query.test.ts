import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import { coalesce } from './coalesce-query.ts'

async function nextTurn(): Promise<void> {
  await endOfTurn()
  await endOfTurn()
}

/** A question that is answered when the test says so, by how often it was asked. */
function startAsking() {
  const asked: PromiseWithResolvers<number>[] = []
  const ask = coalesce(() => {
    const answer = Promise.withResolvers<number>()
    asked.push(answer)
    return answer.promise
  })
  const answer = async (index: number) => {
    asked[index]?.resolve(index + 1)
    await nextTurn()
  }
  return { asked, ask, answer }
}

test('calls in the same tick share one run', async () => {
  const { asked, ask, answer } = startAsking()
  const answers = [ask(), ask(), ask()]
  await nextTurn()
  assert.equal(asked.length, 1)
  await answer(0)
  assert.deepEqual(await Promise.all(answers), [1, 1, 1])
})

test('calls during a run share the next one', async () => {
  const { asked, ask, answer } = startAsking()
  const first = ask()
  await nextTurn()
  const later = [ask(), ask()]
  await nextTurn()
  later.push(ask())
  assert.equal(asked.length, 1)
  await answer(0)
  assert.equal(asked.length, 2)
  await answer(1)
  assert.deepEqual([await first, await Promise.all(later)], [1, [2, 2, 2]])
})

test('a failure rejects the calls that shared the run, and the next run works', async () => {
  const { asked, ask, answer } = startAsking()
  const failing = assert.rejects(ask(), /no answer/)
  await nextTurn()
  asked[0]?.reject(new Error('no answer'))
  await failing
  const next = ask()
  await nextTurn()
  await answer(1)
  assert.equal(await next, 2)
})
