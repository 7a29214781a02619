import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PersonCall } from '@sallyport/sdk'
import { groupCalls, tellDecided } from './group-calls.ts'

function call(id: string, agent: string, second: number): PersonCall {
  const at = new Date(second * 1000).toISOString()
  return { call_id: id, agent: { agent_id: agent, name: 'Same name' }, created_at: at } as PersonCall
}

test('calls are grouped by agent, not by its name, and the longest waiting come first', () => {
  const groups = groupCalls([call('c', 'a1', 9), call('b', 'a2', 5), call('a', 'a1', 1)])
  const ids = groups.map(({ agent, calls }) => [agent.agent_id, ...calls.map(({ call_id: one }) => one)])
  assert.deepEqual(ids, [
    ['a1', 'a', 'c'],
    ['a2', 'b'],
  ])
})

test('a decision on several says how many were decided, and why others were not', () => {
  const done = { call_id: 'cal_1', status: 'approved' as const, error: null }
  const failed = { call_id: 'cal_2', status: null, error: { code: 'expired' as const, message: 'It has expired.' } }
  const tells = (...results: (typeof done | typeof failed)[]) => tellDecided('approve', { results })
  assert.deepEqual(tells(done, done), { text: '2 calls approved.', isProblem: false })
  assert.deepEqual(tells(done, failed), { text: '1 call approved. 1 call was not: It has expired.', isProblem: true })
  assert.deepEqual(tells(failed), { text: '1 call was not decided: It has expired.', isProblem: true })
  assert.equal(tellDecided('deny', { results: [done] }).text, '1 call denied.')
})
