import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migratedDatabase } from '../../../testkit/open-database.ts'
import type { Queries } from './database.ts'
import { groupsWithUniqueKeys, batchLookup } from './batch-lookup.ts'

/** Doubles numbers, and tells which were asked together. */
function doubling() {
  const asked: number[][] = []
  const answer = (_queries: Queries, numbers: readonly number[]) => {
    asked.push([...numbers])
    return numbers.includes(13) ? Promise.reject(new Error('thirteen')) : Promise.resolve(numbers.map((n) => 2 * n))
  }
  return { asked, double: batchLookup(answer) }
}

test('look-ups of one tick share a statement, and each gets its own result', async (t) => {
  const { queries } = (await migratedDatabase(t, 'sqlite'))()
  const { asked, double } = doubling()
  assert.deepEqual(await Promise.all([1, 2, 3].map((n) => double(queries, n))), [2, 4, 6])
  assert.deepEqual(asked, [[1, 2, 3]])
})

test('look-ups that arrive while a statement runs share the next one', async (t) => {
  const { queries } = (await migratedDatabase(t, 'sqlite'))()
  const asked: number[][] = []
  const first = Promise.withResolvers<undefined>()
  const echo = batchLookup(async (_queries: Queries, numbers: readonly number[]) => {
    asked.push([...numbers])
    if (asked.length === 1) await first.promise
    return numbers
  })
  const one = echo(queries, 1)
  await new Promise(setImmediate)
  const others = [2, 3].map((n) => echo(queries, n))
  first.resolve(undefined)
  assert.deepEqual(await Promise.all([one, ...others]), [1, 2, 3])
  assert.deepEqual(asked, [[1], [2, 3]])
})

test('look-ups in a transaction run in that transaction', async (t) => {
  const database = (await migratedDatabase(t, 'sqlite'))()
  const { asked, double } = doubling()
  const inside = database.transaction((tx) => double(tx, 5))
  assert.deepEqual(await Promise.all([double(database.queries, 4), inside]), [8, 10])
  assert.deepEqual(asked.length, 2)
})

test('a statement has at most 64 look-ups', async (t) => {
  const { queries } = (await migratedDatabase(t, 'sqlite'))()
  const { asked, double } = doubling()
  await Promise.all(Array.from({ length: 100 }, (_, n) => double(queries, 1000 + n)))
  assert.deepEqual(
    asked.map(({ length }) => length),
    [64, 36],
  )
})

test('a failure rejects all look-ups of the statement, and the next one works', async (t) => {
  const { queries } = (await migratedDatabase(t, 'sqlite'))()
  const { double } = doubling()
  const settled = await Promise.allSettled([1, 13].map((n) => double(queries, n)))
  assert.deepEqual(
    settled.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(await double(queries, 2), 4)
})

test('each group has a key at most once, in the original order', () => {
  assert.deepEqual(
    groupsWithUniqueKeys(['a', 'b', 'a', 'a', 'c', 'b'], (key) => key),
    [['a', 'b', 'c'], ['a', 'b'], ['a']],
  )
  assert.deepEqual(
    groupsWithUniqueKeys([], () => ''),
    [],
  )
})
