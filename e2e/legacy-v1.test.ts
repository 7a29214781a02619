/** The legacy protocol against the running service: confirmed saves are durable, and keys can rotate. */
import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { onBothDatabases } from '../server/testkit/databases.ts'
import {
  authEnvelope,
  giveRunningServiceKey,
  keyPair,
  open,
  read,
  refresh,
  register,
  save,
  saveBody,
} from '../server/testkit/legacy-v1.ts'
import type { TestClient, TestEnvelope } from '../server/testkit/legacy-v1.ts'
import { freePort } from '../server/testkit/ports.ts'
import { runServer, startService } from './running-service.ts'
import type { Engine, RunningService } from './running-service.ts'

const roomy = { SALLYPORT_V1_REGISTRATIONS_PER_MINUTE: '1000', SALLYPORT_V1_REGISTRATIONS_PER_KEY: '1000' }
const clock = { now: () => new Date() }
const keys = ['a', 'b', 'c', 'd', 'e']

const on = ({ call }: RunningService) => ({ call, clock })

async function startWithKey(t: TestContext, engine: Engine): Promise<RunningService> {
  const service = await startService(t, engine, roomy)
  await giveRunningServiceKey(service.env)
  return service
}

onBothDatabases('the legacy protocol in a running service', (engine) => {
  test('a kill during saves loses no confirmed save, and others are complete or absent', async (t) => {
    const service = await startWithKey(t, engine)
    const workers = await Promise.all(
      [0, 1, 2, 3].map(async (index) => ({
        ...{ client: await register(on(service), keyPair(index)), sent: 0, answered: 0 },
      })),
    )
    for (const enough of [20, 33]) {
      let answers = 0
      let killed: Promise<unknown> | undefined
      const isStill = () => killed === undefined
      const work = async (worker: (typeof workers)[0]) => {
        while (isStill()) {
          worker.sent++
          const items = keys.map((key) => ({ key, value: worker.sent }))
          try {
            await save(on(service), worker.client, items)
          } catch (error) {
            if (isStill()) throw error
            return
          }
          worker.answered = worker.sent
          if (++answers >= enough) killed ??= service.kill()
        }
      }
      await Promise.all(workers.map(work))
      await killed
      await service.startAgain()
      for (const worker of workers) {
        // Whichever response was lost, registering again returns a challenge and the same identity.
        const again = await register(on(service), worker.client.key)
        assert.equal(again.clientUuid, worker.client.clientUuid)
        const { items, missing } = await read(on(service), again, keys)
        const values = new Set((items as { value: number }[]).map(({ value }) => value))
        assert.ok(missing.length === 0 ? values.size === 1 : missing.length === 5 && worker.answered === 0)
        const [value = 0] = values
        assert.ok(value === worker.answered || value === worker.sent, `${value}: ${JSON.stringify(worker)}`)
        worker.client = again
        worker.answered = value
      }
    }
  })

  test('a lost response is recovered by registering again, and its effect stays', async (t) => {
    const service = await startWithKey(t, engine)
    const client = await register(on(service))
    const body = saveBody(on(service), client, [{ key: 'a', value: 1 }])
    const lost = await service.call('POST', '/v1/kv/save', { body })
    assert.equal(lost.status, 200, lost.text)
    const replayed = await service.call('POST', '/v1/kv/save', { body })
    assert.equal(replayed.body.error.code, 'challenge_already_used')
    const again = await register(on(service))
    assert.equal(again.clientUuid, client.clientUuid)
    assert.equal((await read(on(service), again, ['a'])).items[0].value, 1)
  })

  test('v1-key rotate gives the running service a new key, and the old one still decrypts', async (t) => {
    const service = await startWithKey(t, engine)
    const client = await register(on(service))
    const { code, stdout, stderr } = await runServer(t, ['v1-key', 'rotate'], service.env)
    assert.equal(code, 0, stderr)
    const { body } = await service.call('GET', '/v1/authai/public-key')
    assert.ok(stdout.includes(`The service's v1 key is now ${body.authai_key_id}, ${body.fingerprint}.\n`), stdout)
    assert.ok(stdout.endsWith(body.authai_public_key as string))
    assert.ok(!stdout.includes('PRIVATE'))
    assert.notEqual(body.authai_key_id, client.serviceKeyId)
    const next = await refresh(on(service), client)
    assert.equal(next.status, 200, next.text)
    const renewed: TestClient = {
      ...client,
      challenge: open(client.key.privateKey, next.body.challenge_for_client as TestEnvelope),
      serviceKey: createPublicKey(body.authai_public_key as string),
    }
    const auth_envelope = authEnvelope(on(service), renewed, 'authai.refresh')
    assert.equal((await service.call('POST', '/v1/authai/refresh', { body: { auth_envelope } })).status, 200)
  })
})

test('of 50 uses of one challenge on two processes and one PostgreSQL one wins', async (t) => {
  const service = await startService(t, 'postgres', roomy)
  const other = await startService(t, 'postgres', {
    ...service.env,
    PORT: String(await freePort()),
    SALLYPORT_BASE_URL: `http://localhost:${service.port}`,
  })
  const client = await register(on(service))
  const headers = { host: `localhost:${service.port}` }
  const bodies = Array.from({ length: 50 }, (_, index) =>
    saveBody(on(service), client, [{ key: 'winner', value: index }]),
  )
  const replies = await Promise.all(
    bodies.map((body, index) => (index % 2 ? service : other).call('POST', '/v1/kv/save', { body, headers })),
  )
  const winner = replies.findIndex(({ status }) => status === 200)
  const codes = replies.flatMap(({ status, body }) => (status === 200 ? [] : [body.error.code as string]))
  assert.deepEqual([codes.length, new Set(codes)], [49, new Set(['challenge_already_used'])])
  client.challenge = open(client.key.privateKey, replies[winner]?.body.challenge_for_client as TestEnvelope)
  assert.equal((await read(on(service), client, ['winner'])).items[0].value, winner)
})
