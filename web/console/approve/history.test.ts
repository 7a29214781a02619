import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeHistory } from './history.ts'

test('what an agent did before is a sentence', () => {
  const says = (grants: number, active_grants: number, calls: number) =>
    describeHistory({ grants, active_grants, calls, last_call_at: null })
  assert.equal(says(0, 0, 0), 'Nothing: you have never granted it anything.')
  assert.equal(says(1, 0, 0), 'You have granted it access once; none of it holds any more. It made no call with it.')
  assert.equal(says(1, 1, 1), 'You have granted it access once; all of it still holds. It made 1 call with it.')
  assert.equal(
    says(1000, 2, 1203),
    'You have granted it access 1,000 times; 2 of them still hold. It made 1,203 calls with it.',
  )
})
