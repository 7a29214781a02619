import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeHistory } from './history.ts'

test("an agent's history is a sentence", () => {
  const says = (grants: number, active_grants: number, calls: number) =>
    describeHistory({ grants, active_grants, calls, last_call_at: null })
  assert.equal(says(0, 0, 0), 'You have never granted it access.')
  assert.equal(says(1, 0, 0), 'You have granted it access once; that grant has ended. It has made no calls.')
  assert.equal(says(1, 1, 1), 'You have granted it access once; that grant is still active. It has made 1 call.')
  assert.equal(says(2, 0, 0), 'You have granted it access twice; all of those grants have ended. It has made no calls.')
  assert.equal(
    says(1000, 2, 1203),
    'You have granted it access 1,000 times; 2 of those grants are still active. It has made 1,203 calls.',
  )
})
