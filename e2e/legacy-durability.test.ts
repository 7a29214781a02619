/** The legacy protocol's saves across a kill, and its challenges on two processes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { authBinding } from '@sallyport/protocol/v1/binding'
import { generateClientKey } from '@sallyport/sdk'
import { onBothDatabases } from '../server/testkit/databases.ts'
import { freePort } from '../server/testkit/ports.ts'
import { authPayload, openChallenge } from '../sdk/src/legacy-v1/challenge.ts'
import { seal } from '../sdk/src/legacy-v1/envelope.ts'
import { publicPem, readPublicKey } from '../sdk/src/legacy-v1/keys.ts'
import { killAmid } from './killing.ts'
import { clientOf, roomyForLegacy, serviceFingerprint } from './legacy-clients.ts'
import { startService } from './running-service.ts'

const clients = 4
const keys = ['a', 'b', 'c', 'd', 'e']

onBothDatabases('a kill in the middle of saves', (engine) => {
  test('leaves each answered save there, and each unanswered one whole or not at all', async (t) => {
    const service = await startService(t, engine, roomyForLegacy)
    const serviceKeyFingerprint = await serviceFingerprint(service)
    const savers = await Promise.all(
      Array.from({ length: clients }, async () => ({
        key: await generateClientKey(2048),
        begun: 0,
        answered: 0,
      })),
    )
    for (const enough of [23, 61, 40]) {
      const started = await Promise.all(savers.map(({ key }) => clientOf(service, { key, serviceKeyFingerprint })))
      await killAmid(service, { clients, enough }, async (index) => {
        const saver = savers[index]
        const client = started[index]?.client
        assert.ok(saver && client)
        const value = ++saver.begun
        await client.save(
          'killed',
          keys.map((key) => ({ key, value, metadata: { value } })),
        )
        saver.answered = value
      })
      await service.startAgain()
      for (const saver of savers) {
        const { client } = await clientOf(service, { key: saver.key, serviceKeyFingerprint })
        const { items } = await client.read('killed', keys)
        const found = new Set(items.flatMap(({ value, metadata }) => [value, metadata['value']]))
        assert.ok(found.size <= 1, `parts of several saves: ${[...found].join(', ')}`)
        const [value = 0] = [...found] as number[]
        assert.ok(items.length === (value === 0 ? 0 : keys.length), 'a part of a save')
        assert.ok(value >= saver.answered && value <= saver.begun, `${value} is there, ${saver.answered} was answered`)
        saver.begun = saver.answered = value
      }
    }
  })
})

test('50 uses of one challenge at once on two processes and one PostgreSQL: one wins', async (t) => {
  const service = await startService(t, 'postgres', roomyForLegacy)
  const base = `http://localhost:${service.port}`
  const changes = { ...service.env, PORT: String(await freePort()), SALLYPORT_BASE_URL: base }
  const other = await startService(t, 'postgres', changes)
  const key = await generateClientKey(2048)
  const headers = { host: new URL(base).host }
  const registered = await service.call('POST', '/v1/authai/register', {
    body: { client_public_key: await publicPem(key.publicKey) },
  })
  assert.equal(registered.status, 201)
  const serviceKey = await readPublicKey(registered.body.authai_public_key)
  assert.ok(serviceKey)
  const challenge = await openChallenge(registered.body, key.privateKey)
  const bodies = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const payload = authPayload(challenge, 'authai.refresh', crypto.randomUUID())
      return { auth_envelope: await seal(serviceKey, payload, await authBinding({})) }
    }),
  )
  const replies = await Promise.all(
    bodies.map((body, index) => (index % 2 ? service : other).call('POST', '/v1/authai/refresh', { body, headers })),
  )
  const winners = replies.filter(({ status }) => status === 200)
  assert.equal(winners.length, 1)
  const codes = replies.filter(({ status }) => status !== 200).map(({ body }) => body.error.code as string)
  assert.deepEqual(new Set(codes), new Set(['challenge_already_used']))
  await openChallenge(winners[0]?.body, key.privateKey)
})
