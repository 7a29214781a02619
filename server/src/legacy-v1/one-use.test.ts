import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startInstances } from '../../testkit/instances.ts'
import {
  authEnvelope,
  keyPair,
  open,
  read,
  readBody,
  refresh,
  refusal,
  register,
  save,
  saveBody,
} from '../../testkit/legacy-v1.ts'
import type { TestEnvelope } from '../../testkit/legacy-v1.ts'
import { startService } from '../../testkit/service.ts'

const used = [409, 'challenge_already_used', undefined]

onBothDatabases('single use of a v1 challenge', (engine) => {
  test('of 50 uses of one challenge on two instances one wins, and its values are stored', async (t) => {
    const instances = await startInstances(t, engine)
    const [here] = instances
    const client = await register(here)
    const racers = Array.from({ length: 50 }, async (_, index) => {
      const service = instances[index % 2] ?? here
      const body = saveBody(service, client, [{ key: 'winner', value: index }])
      return service.call('POST', '/v1/kv/save', { body })
    })
    const replies = await Promise.all(racers)
    const winners = replies.flatMap(({ status }, index) => (status === 200 ? [index] : []))
    assert.equal(winners.length, 1, JSON.stringify(replies.map(({ status }) => status)))
    for (const reply of replies.filter(({ status }) => status !== 200)) assert.deepEqual(refusal(reply), used)
    const [winner = -1] = winners
    const envelope = replies[winner]?.body.challenge_for_client as TestEnvelope
    client.challenge = open(client.key.privateKey, envelope)
    assert.equal((await read(here, client, ['winner'])).items[0].value, winner)
    const events = await here.database.queries.selectFrom('audit_records').select('event').execute()
    assert.equal(events.filter(({ event }) => event === 'v1.saved').length, 1)
  })

  test('of concurrent operations with one challenge one wins, rotations included', async (t) => {
    const instances = await startInstances(t, engine)
    const [here, there] = instances
    const client = await register(here)
    const again = await register(there)
    const rotation = () => {
      const auth_envelope = authEnvelope(here, client, 'authai.rotate_key')
      const body = { auth_envelope, new_client_public_key: keyPair(1).pem }
      return here.call('POST', '/v1/authai/rotate-key', { body })
    }
    const replies = await Promise.all([
      rotation(),
      there.call('POST', '/v1/kv/read', { body: readBody(there, client, ['a']) }),
      refresh(here, again),
      refresh(there, again),
      refresh(there, client),
    ])
    assert.deepEqual(replies.map(({ status }) => status).toSorted(), [200, 409, 409, 409, 409])
    const active = await here.database.queries
      .selectFrom('v1_challenges')
      .select('challenge_id')
      .where('status', '=', 'active')
      .execute()
    assert.equal(active.length, 1)
  })

  test('two concurrent registrations of a key get the same identity', async (t) => {
    const [here, there] = await startInstances(t, engine)
    const clients = await Promise.all([register(here), register(there), register(here)])
    assert.equal(new Set(clients.map(({ clientUuid }) => clientUuid)).size, 1)
    const [first] = clients
    assert.equal((await refresh(here, first)).status, 200)
  })

  test('a rotation invalidates the old key and its challenges', async (t) => {
    const service = await startService(t, engine)
    const client = await register(service)
    const beside = await register(service)
    const auth_envelope = authEnvelope(service, client, 'authai.rotate_key')
    const body = { auth_envelope, new_client_public_key: keyPair(1).pem }
    const rotated = await service.call('POST', '/v1/authai/rotate-key', { body })
    assert.equal(rotated.status, 200, rotated.text)
    for (const old of [client, beside]) assert.deepEqual(refusal(await refresh(service, old)), used)
    const again = await service.call('POST', '/v1/authai/register', { body: { client_public_key: client.key.pem } })
    assert.deepEqual(refusal(again), [409, 'public_key_already_registered', 'client_public_key'])
    const next = { ...client, key: keyPair(1) }
    next.challenge = open(next.key.privateKey, rotated.body.challenge_for_client as TestEnvelope)
    await save(service, next, [{ key: 'a', value: 1 }])
    // A client may go back to a key of its own.
    const back = {
      auth_envelope: authEnvelope(service, next, 'authai.rotate_key'),
      new_client_public_key: keyPair(0).pem,
    }
    const reply = await service.call('POST', '/v1/authai/rotate-key', { body: back })
    assert.equal(reply.status, 200, reply.text)
    assert.equal((await register(service)).clientUuid, client.clientUuid)
  })
})
