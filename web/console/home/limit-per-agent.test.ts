import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limitPerAgent } from './limit-per-agent.ts'

const of = (agent_id: string, count: number) => Array.from({ length: count }, () => ({ agent: { agent_id } }))

test("an agent with a hundred requests does not hide other agents' requests", () => {
  const { shown, behind } = limitPerAgent([...of('loud', 100), ...of('quiet', 1)])
  assert.deepEqual(shown, [...of('loud', 5), ...of('quiet', 1)])
  assert.equal(behind, 95)
})

test('a few requests are all shown, many only up to a page', () => {
  assert.deepEqual(limitPerAgent(of('one', 5)), { shown: of('one', 5), behind: 0 })
  const { shown, behind } = limitPerAgent(Array.from({ length: 60 }, (_, index) => of(`agt_${index}`, 2)).flat())
  assert.deepEqual([shown.length, behind], [50, 70])
})
