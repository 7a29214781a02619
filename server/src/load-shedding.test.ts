/** Load shedding in the app: who is refused while the event loop is busy. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCalling } from '../testkit/calling.ts'

/** Blocks the event loop for longer than its utilization is sampled. */
function keepBusy(): void {
  const end = performance.now() + 400
  while (performance.now() < end);
}

test('while the service is busy, strangers are refused, and approved agents, people and revocation are not', async (t) => {
  const { service, agent, grantId, proxy } = await startCalling(t, 'sqlite', {
    settings: { SALLYPORT_UNAPPROVED_REQUESTS_PER_SECOND: '1' },
  })
  const { call } = service
  assert.equal((await proxy()).status, 200)
  const stranger = await service.registerAgent('a stranger')
  const person = await service.logIn()
  const asStranger = () => call('GET', '/v4/agents/me', { token: stranger.token })
  assert.equal((await asStranger()).status, 200)
  keepBusy()

  const replies = []
  for (let index = 0; index < 20; index++) replies.push(await asStranger())
  const refused = replies.filter(({ status }) => status === 429)
  assert.ok(refused.length >= 10, `${refused.length} refused`)
  for (const { body, headers } of refused) {
    assert.equal(body.error.code, 'rate_limited')
    assert.match(body.error.message, /busy/)
    assert.equal(headers['retry-after'], '1')
  }
  assert.equal((await call('GET', '/v4/providers')).status, 429, 'without a credential')
  assert.equal((await call('GET', '/healthz')).status, 200)
  for (let index = 0; index < 20; index++) assert.equal((await proxy()).status, 200)
  assert.equal((await call('GET', '/v4/auth/me', { token: person.token })).status, 200)
  assert.equal((await call('GET', '/v4/agents', { token: service.adminToken })).status, 200)
  assert.equal((await call('POST', `/v4/grants/${grantId}/revoke`, { token: agent.token })).status, 200)
})
