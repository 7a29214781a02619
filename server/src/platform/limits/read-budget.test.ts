import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fixedClock } from '../../../testkit/clock.ts'
import type { ServiceError } from '../errors.ts'
import { createReadBudget } from './read-budget.ts'

function budgetOf(rowsPerSecond: number) {
  const clock = fixedClock()
  return {
    clock,
    ...createReadBudget({ clock: clock.now, rowsPerSecond, isSelfRegistered: (caller) => caller.startsWith('agent ') }),
  }
}

const isRateLimited = ({ code, retryAfterSeconds = 0 }: ServiceError) =>
  code === 'rate_limited' && retryAfterSeconds > 0

test("a caller may read ten seconds' worth at once, then the rate per second", () => {
  const { clock, assertLeft, spend } = budgetOf(100)
  spend('agent a', 1000)
  assertLeft('agent a')
  spend('agent a', 250)
  assert.throws(
    () => {
      assertLeft('agent a')
    },
    (error: ServiceError) => error.retryAfterSeconds === 3,
  )
  assertLeft('agent b')
  clock.advance(2.4)
  assert.throws(() => {
    assertLeft('agent a')
  }, isRateLimited)
  clock.advance(0.1)
  assertLeft('agent a')
})

test('the operator has no limit, and 0 turns the limit off', () => {
  const limited = budgetOf(1)
  limited.spend('admin', 1_000_000)
  limited.assertLeft('admin')
  const unlimited = budgetOf(0)
  unlimited.spend('agent a', 1_000_000)
  unlimited.assertLeft('agent a')
})

test('untilLeft waits until the budget is available again', async () => {
  const { spend, untilLeft } = budgetOf(1000)
  spend('user u', 10_005)
  await untilLeft('user u')
})

test('one search runs per caller and two for all agents, and people never wait for agents', async () => {
  const { inTurn } = budgetOf(100)
  const running: string[] = []
  const ends: (() => void)[] = []
  const search = (caller: string) =>
    inTurn(caller, async () => {
      running.push(caller)
      await new Promise<void>((resolve) => ends.push(resolve))
      running.splice(running.indexOf(caller), 1)
    })
  const turn = async () => {
    // Waiting searches start in the next tick of the event loop.
    for (let turns = 0; turns < 2; turns++) await new Promise(setImmediate)
  }
  const all = ['agent a', 'agent a', 'agent b', 'agent c', 'user u'].map(search)
  await turn()
  assert.deepEqual(running, ['agent a', 'agent b', 'user u'])
  ends.shift()?.()
  await turn()
  assert.deepEqual(running, ['agent b', 'user u', 'agent a'])
  for (let left = 0; left < 10; left++) {
    ends.shift()?.()
    await turn()
  }
  await Promise.all(all)
  assert.deepEqual(running, [])
})

test('the queue of a caller is limited, and a search that fails starts the next', async () => {
  const { inTurn } = budgetOf(100)
  const { promise, reject } = Promise.withResolvers<number>()
  const first = inTurn('agent a', () => promise)
  const waiting = Array.from({ length: 8 }, (_, index) => inTurn('agent a', async () => index))
  await assert.rejects(
    inTurn('agent a', async () => 9),
    isRateLimited,
  )
  const other = inTurn('agent b', async () => 'b')
  assert.equal(await other, 'b')
  reject(new Error('no database'))
  await assert.rejects(first, /no database/)
  assert.deepEqual(await Promise.all(waiting), [0, 1, 2, 3, 4, 5, 6, 7])
})
