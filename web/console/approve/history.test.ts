import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Grant } from '@sallyport/sdk'
import { describeHistory, historyOf } from './history.ts'

function grant(agentId: string, status: Grant['status'], calls: number, lastUsedAt: string | null): Grant {
  return { agent: { agent_id: agentId, name: 'n' }, status, calls, last_used_at: lastUsedAt } as Grant
}

const grants = [
  grant('agt_1', 'active', 3, '2026-11-16T10:00:00.000Z'),
  grant('agt_1', 'revoked', 1200, '2026-11-15T10:00:00.000Z'),
  grant('agt_2', 'active', 50, '2026-11-16T11:00:00.000Z'),
]

test('an agent is judged by its own grants alone', () => {
  const history = historyOf(grants, 'agt_1')
  assert.deepEqual([history.calls, history.active, history.lastUsedAt], [1203, 1, '2026-11-16T10:00:00.000Z'])
  assert.equal(
    describeHistory(history),
    'You have granted it access twice; 1 still holds. It made 1,203 calls with it.',
  )
})

test('who was never granted anything is said to be new', () => {
  assert.equal(describeHistory(historyOf(grants, 'agt_3')), 'Nothing: you have never granted it anything.')
  const unused = historyOf([grant('agt_4', 'expired', 0, null)], 'agt_4')
  assert.equal(
    describeHistory(unused),
    'You have granted it access once; none of it holds any more. It made no call with it.',
  )
  assert.equal(unused.lastUsedAt, null)
})
