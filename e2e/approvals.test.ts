/** Decisions on several processes, and across a crash, over the wire. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { startCallbackReceiver } from '../server/testkit/callback-receiver.ts'
import type { CallbackReceiver } from '../server/testkit/callback-receiver.ts'
import { onBothDatabases } from '../server/testkit/databases.ts'
import { startOAuthServer } from '../server/testkit/oauth-server.ts'
import { freePort } from '../server/testkit/ports.ts'
import { slug, startWithProvider, succeeded } from './person.ts'
import { eventually, startService } from './running-service.ts'
import type { Engine, RunningService } from './running-service.ts'

/** A user with a connection, an agent that requests access, and a receiver for its callback. */
async function startAsking(t: TestContext, engine: Engine) {
  const oauth = await startOAuthServer(t)
  const receiver = await startCallbackReceiver(t)
  const person = await startWithProvider(t, engine, oauth, {
    SALLYPORT_EGRESS_ALLOW: `${oauth.host},${receiver.host}`,
    SALLYPORT_ACCESS_REQUESTS_PER_HOUR: '1000',
  })
  const { service, token, start, follow } = person
  const { connection_id: connectionId = '' } = await follow(await oauth.approve(await start()))
  assert.match(connectionId, /^con_/)
  const agent = await service.register('Mail helper')
  const ask = async () => {
    const body = { provider: slug, callback_url: receiver.url.href }
    const reply = await service.call('POST', '/v4/access-requests', { token: agent.token, body })
    const { access_request_id: id, callback_secret: secret } = succeeded(reply).body as Record<string, string>
    return { id: id ?? '', secret: secret ?? '' }
  }
  const read = async (id: string) =>
    (await service.call('GET', `/v4/access-requests/${id}`, { token: agent.token })).body
  return { service, receiver, token, connectionId, agent, ask, read }
}

function verified({ received }: CallbackReceiver, secret: string): { ids: Set<string>; payloads: any[] } {
  const webhook = new Webhook(secret)
  return {
    ids: new Set(received.map(({ headers }) => headers['webhook-id'] ?? '')),
    payloads: received.map(({ body, headers }) => webhook.verify(body, headers)),
  }
}

test('50 concurrent decisions on two processes with PostgreSQL: one decision, grant and event', async (t) => {
  const { service, receiver, token, connectionId, agent, ask, read } = await startAsking(t, 'postgres')
  const base = `http://localhost:${service.port}`
  const other = await startService(t, 'postgres', {
    ...service.env,
    PORT: String(await freePort()),
    SALLYPORT_BASE_URL: base,
  })
  const { id, secret } = await ask()
  const decide = (instance: RunningService, verdict: 'approve' | 'deny') =>
    instance.call('POST', `/v4/access-requests/${id}/${verdict}`, {
      token,
      body: verdict === 'approve' ? { connection_id: connectionId } : {},
      headers: { host: new URL(base).host },
    })
  const replies = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      decide(index % 2 ? service : other, Math.floor(index / 2) % 2 ? 'approve' : 'deny'),
    ),
  )
  const [winner, ...others] = replies.filter(({ status }) => status < 300)
  assert.ok(winner)
  assert.deepEqual(others, [])
  const losers = replies.filter((reply) => reply !== winner)
  assert.deepEqual(new Set(losers.map(({ body }) => body.error.code)), new Set(['request_not_pending']))

  const { status, grant_id: grantId } = await read(id)
  const { body: listed } = await service.call('GET', '/v4/grants', { token: agent.token })
  const expected = winner.status === 201 ? ['approved', winner.body.grant_id] : ['denied', null]
  assert.deepEqual([status, grantId], expected)
  assert.equal(listed.grants.length, status === 'approved' ? 1 : 0)
  await eventually(async () => (await read(id)).callback.status === 'delivered', 'no callback arrived')
  const { ids, payloads } = verified(receiver, secret)
  assert.deepEqual([ids.size, payloads.length], [1, 1])
  assert.deepEqual(payloads[0], {
    event: `access_request.${status}`,
    access_request_id: id,
    status,
    grant_id: grantId,
    provider: slug,
    agent_id: agent.agentId,
  })
})

onBothDatabases('a service that is killed right after an approval', (engine) => {
  test('sends the callback after its restart, with the same webhook-id', async (t) => {
    const { service, receiver, token, connectionId, agent, ask, read } = await startAsking(t, engine)
    const { id, secret } = await ask()
    await receiver.goDown()
    const approved = await service.call('POST', `/v4/access-requests/${id}/approve`, {
      token,
      body: { connection_id: connectionId },
    })
    await service.kill()
    assert.equal(approved.status, 201)
    await receiver.comeBack()
    await service.startAgain()
    assert.deepEqual([(await read(id)).status, (await read(id)).grant_id], ['approved', approved.body.grant_id])
    // Longer than the lease that the dead process may have held.
    const isDelivered = async () => (await read(id)).callback.status === 'delivered'
    await eventually(isDelivered, 'the callback was lost', 1000)
    const { ids, payloads } = verified(receiver, secret)
    assert.equal(ids.size, 1)
    assert.deepEqual([payloads[0].grant_id, payloads[0].agent_id], [approved.body.grant_id, agent.agentId])
  })
})
