import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { insertGrant } from '../../testkit/grants.ts'
import { startHeldCalls } from '../../testkit/held-calls.ts'
import type { HeldCallTest } from '../../testkit/held-calls.ts'

async function startWithPhone(t: Parameters<typeof startHeldCalls>[0], engine: 'sqlite' | 'postgres') {
  const test = await startHeldCalls(t, engine)
  const { deviceId, token } = await test.device()
  const body = { push_token: 'ab12'.repeat(16) }
  const { status, text } = await test.service.call('POST', `/v4/devices/${deviceId}/push-token`, { token, body })
  assert.equal(status, 200, text)
  return test
}

async function pushesOf({ service: { database } }: HeldCallTest) {
  const rows = await database.queries.selectFrom('pushes').select(['message', 'attempt_after']).execute()
  return rows.map(({ message, attempt_after }) => ({ ...JSON.parse(message), attempt_after }))
}

onBothDatabases('a push about held calls', (engine) => {
  test('names how many wait, the agent and the provider, and nothing of what they do', async (t) => {
    const test = await startWithPhone(t, engine)
    const ids = []
    for (let n = 0; n < 3; n++) ids.push(await test.held({ body: { secret: `content-${n}` }, reason: 'Because.' }))
    const [push, ...others] = await pushesOf(test)
    assert.equal(others.length, 0, 'one for all')
    assert.deepEqual(push.calls, { newest: ids[2], count: 3 })
    assert.equal(push.title, '3 calls are waiting for you')
    assert.equal(push.body, 'The latest: “an agent” (unverified) wants to change something at Acme Corp.')
    assert.equal(push.url, `${test.service.config.baseUrl.origin}/approve-call/${ids[2]}`)
    assert.doesNotMatch(JSON.stringify(push), /content|Because|things/)
    assert.equal(push.attempt_after, test.service.clock.now().getTime() + 2000, 'further calls are collected')
    await test.deny(ids[0] ?? '')
    assert.equal((await pushesOf(test)).length, 1)
    for (const id of ids.slice(1)) await test.cancel(id)
    assert.deepEqual(await pushesOf(test), [], 'nothing is left to announce')
  })

  test('comes three times in ten minutes at most, and twice for one agent', async (t) => {
    const test = await startWithPhone(t, engine)
    const { service, userId, connectionId, upstream } = test
    const other = await service.registerAgent('another agent')
    const terms = { mode: 'ask_writes' as const, allowedHosts: [upstream.host] }
    const { grantId } = await insertGrant(service, { agentId: other.agentId, userId, connectionId, ...terms })
    const asking = { grant_id: grantId, method: 'POST', url: upstream.url }
    const holds = [
      (n: number) => test.held({ body: { n } }),
      (n: number) => service.call('POST', '/v4/proxy', { token: other.token, body: { ...asking, body: { n } } }),
    ]
    for (const [index, hold] of holds.entries()) {
      let sent = 0
      for (let n = 0; n < 4; n++) {
        await hold(n)
        sent += (await pushesOf(test)).length
        await service.database.queries.deleteFrom('pushes').execute()
        service.clock.advance(10)
      }
      assert.equal(sent, [2, 1][index], 'the second agent gets what is left')
    }
    service.clock.advance(600)
    await test.held({ body: { n: 9 } })
    assert.equal((await pushesOf(test))[0]?.calls.count, 9, 'it counts those that were not announced')
  })
})
