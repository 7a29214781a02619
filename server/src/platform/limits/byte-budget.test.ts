import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createByteBudget } from './byte-budget.ts'

const all = { key: 'all', maxBytes: 100 }
const one = { key: 'one', maxBytes: 60 }

test('held bytes count against every share, and grow only within all of them', () => {
  const budget = createByteBudget()
  const first = budget.hold([all, one])
  const second = budget.hold([all, one])
  const other = budget.hold([all])
  assert.ok(first.grow(40))
  assert.ok(!second.grow(21), 'its own share is full')
  assert.ok(second.grow(20))
  assert.ok(!other.grow(41), 'the whole is full')
  assert.ok(other.grow(40))
  assert.deepEqual([budget.held('all'), budget.held('one')], [100, 60])
  first.release()
  first.release()
  assert.deepEqual([budget.held('all'), budget.held('one')], [60, 20])
  assert.ok(!first.grow(1), 'it is over')
  assert.ok(second.resize(60))
  assert.ok(!second.resize(61))
  assert.ok(second.resize(5))
  second.release()
  other.release()
  assert.deepEqual([budget.held('all'), budget.held('one')], [0, 0])
})
