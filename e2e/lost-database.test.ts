import assert from 'node:assert/strict'
import { appendFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startPostgres } from '../server/testkit/postgres-server.ts'
import { eventually, roomy, startService } from './running-service.ts'
import type { RunningService } from './running-service.ts'
import { mountSmallDisk } from './small-disk.ts'

async function assertNotReady(service: RunningService, token: string): Promise<void> {
  const calls: [string, string, object][] = [
    ['POST', '/v4/agents/register', { body: { name: 'in vain' } }],
    ['GET', '/v4/agents/me', { token }],
    ['POST', '/v4/sandbox/start', { token }],
  ]
  for (const [method, path, call] of calls) {
    const { status, headers, body, text } = await service.call(method, path, call)
    assert.deepEqual([status, body.error.code, body.error.retryable], [503, 'not_ready', true], text)
    assert.equal(headers['retry-after'], '1')
  }
  assert.deepEqual((await service.call('GET', '/readyz')).body.error.code, 'not_ready')
  assert.equal((await service.call('GET', '/healthz')).status, 200)
}

async function assertReady(service: RunningService, token: string): Promise<void> {
  assert.equal((await service.call('GET', '/readyz')).status, 200)
  assert.equal((await service.call('GET', '/v4/agents/me', { token })).status, 200)
  const { example } = (await service.call('POST', '/v4/sandbox/start', { token })).body
  assert.equal((await service.call('POST', '/v4/proxy', { token, body: example.body })).status, 200)
  await service.register('as before')
}

test('while PostgreSQL is stopped the service is not ready, and recovers with it', async (t) => {
  const postgres = await startPostgres()
  t.after(() => postgres.stop())
  const service = await startService(t, 'postgres', { ...roomy, DATABASE_URL: postgres.url })
  const { token } = await service.register()
  await assertReady(service, token)
  const { pid } = service
  for (let round = 0; round < 2; round++) {
    await postgres.halt()
    await assertNotReady(service, token)
    await postgres.resume()
    await eventually(async () => (await service.call('GET', '/readyz')).status === 200, 'it does not recover')
    await assertReady(service, token)
  }
  assert.equal(service.pid, pid)

  await postgres.halt()
  assert.deepEqual(await service.stop(), { code: 0, signal: null }, 'it stops without its database too')
})

test('when PostgreSQL stops during calls they fail with 503 only', async (t) => {
  const postgres = await startPostgres()
  t.after(() => postgres.stop())
  const service = await startService(t, 'postgres', { ...roomy, DATABASE_URL: postgres.url })
  const kept: string[] = []
  const statuses = new Set<number>()
  let isOver = false
  const clients = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      const { status, body } = await service.call('POST', '/v4/agents/register', { body: { name: 'amid' } })
      statuses.add(status)
      if (status === 201) kept.push(body.access_token)
    }
  })
  await eventually(() => kept.length > 20, 'nothing was registered')
  await postgres.halt()
  await eventually(() => statuses.has(503), 'the halt was not noticed')
  await postgres.resume()
  const before = kept.length
  await eventually(() => kept.length > before + 20, 'it does not recover')
  isOver = true
  await Promise.all(clients)
  assert.deepEqual([...statuses].sort(), [201, 503])
  for (const token of kept) assert.equal((await service.call('GET', '/v4/agents/me', { token })).status, 200)
})

test('while the SQLite file is moved away the service is not ready, and recovers with it', async (t) => {
  const service = await startService(t, 'sqlite', roomy)
  const { token } = await service.register()
  const file = join(service.dataDir, 'sallyport.db')
  for (let round = 0; round < 2; round++) {
    renameSync(file, `${file}.away`)
    await assertNotReady(service, token)
    renameSync(`${file}.away`, file)
    await assertReady(service, token)
  }
})

test('a full disk makes writes fail with 503 until there is space', async (t) => {
  const folder = mountSmallDisk(t, 6)
  if (folder === undefined) {
    t.skip('this user may not mount a small file system to fill')
    return
  }
  const service = await startService(t, 'sqlite', {
    ...roomy,
    SALLYPORT_DATA_DIR: folder,
    SALLYPORT_DISK_FLOOR_BYTES: '0',
  })
  const { token } = await service.register()
  const filler = join(folder, 'filler')
  assert.throws(() => {
    for (let count = 0; count < 10_000; count++) appendFileSync(filler, Buffer.alloc(4096))
  }, /ENOSPC/)
  const kept: string[] = []
  const metadata = { text: 'x'.repeat(3000) }
  let refused
  for (let count = 0; count < 3000 && !refused; count++) {
    const reply = await service.call('POST', '/v4/agents/register', { body: { name: 'fills up', metadata } })
    if (reply.status === 201) kept.push(reply.body.access_token)
    else refused = reply
  }
  assert.deepEqual([refused?.status, refused?.body.error.code, refused?.body.error.retryable], [503, 'not_ready', true])
  assert.equal((await service.call('GET', '/healthz')).status, 200)
  rmSync(filler)
  await eventually(
    async () => (await service.call('POST', '/v4/sandbox/start', { token })).status === 201,
    'no recovery',
  )
  await service.register('with room')
  for (const one of kept) assert.equal((await service.call('GET', '/v4/agents/me', { token: one })).status, 200)
})
