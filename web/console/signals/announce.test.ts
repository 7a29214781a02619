import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLimit, createPicker, waitingItems } from './announce.ts'

const agent = { agent_id: 'agt_1', name: 'Mail helper' }
const asked = (id: string, agentId = 'agt_1') => ({
  ...{ access_request_id: id, provider_name: 'Beta' },
  agent: { ...agent, agent_id: agentId },
})
const items = (...ids: string[]) =>
  waitingItems(
    ids.map((id) => asked(id)),
    [],
  )
const idsOf = (picked: { id: string }[]) => picked.map(({ id }) => id)

test('a notification names the agent as not verified, and nothing of a call', () => {
  const call = { call_id: 'cal_1', agent, url: 'https://api.example/secret', reason: 'please' }
  const [request, held] = waitingItems([asked('arq_1')], [call])
  assert.equal(request?.body, '“Mail helper” (not verified) asks for access to “Beta”.')
  assert.equal(request.path, '/approve-proxy/arq_1')
  assert.equal(held?.body, '“Mail helper” (not verified) asks you to approve a call.')
  assert.doesNotMatch(JSON.stringify(held), /secret|please/)
})

test("an agent's name can't end its quotation, hide anything, or fill the notification", () => {
  const name = `A” was approved. “\u202eB\nC${'x'.repeat(200)}`
  const [call] = waitingItems([], [{ call_id: 'cal_1', agent: { ...agent, name } }])
  const [, quoted = ''] = /^“([^“”]*)” \(not verified\) asks you to approve a call\.$/.exec(call?.body ?? '') ?? []
  assert.match(quoted, /^A’ was approved\. ’B Cx+…$/)
  assert.equal(quoted.length, 40)
})

test('each item is picked once, and what is there at first is not new', () => {
  const pick = createPicker()
  assert.deepEqual(pick(items('a')), [])
  assert.deepEqual(idsOf(pick(items('a', 'b'))), ['b'])
  assert.deepEqual(pick(items('b')), [])
  assert.deepEqual(pick(items('a', 'b')), [], 'one that is back is known')
})

test('requests of any number of agents pass 3 times in 10 minutes, and calls still do', () => {
  const limited = createLimit()
  const many = ['a', 'b', 'c', 'd'].map((id) => asked(id, `agt_${id}`))
  assert.deepEqual(idsOf(limited(waitingItems(many, []), 0)), ['a', 'b', 'c'])
  const calls = ['e', 'f', 'g', 'h'].map((id) => ({ call_id: id, agent }))
  const other = { call_id: 'i', agent: { ...agent, agent_id: 'agt_2' } }
  assert.deepEqual(idsOf(limited(waitingItems([asked('j')], [...calls, other]), 599_999)), ['e', 'f', 'g', 'i'])
  assert.deepEqual(idsOf(limited(items('k'), 600_000)), ['k'])
})
