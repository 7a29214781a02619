import assert from 'node:assert/strict'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgres } from '../server/testkit/postgres-server.ts'
import { eventually, roomy, runServer, startService } from './running-service.ts'
import type { RunningService } from './running-service.ts'
import { fillDisk, mountSmallDisk } from './small-disk.ts'

const mebibyte = 1024 * 1024

async function until(service: RunningService, status: number): Promise<void> {
  while ((await service.call('GET', '/readyz')).status !== status) await sleep(50)
}

test('on a disk filled by another program, revoking and disabling work', async (t) => {
  const disk = mountSmallDisk(t, 256)
  if (disk === undefined) {
    t.skip('only root can mount a disk for this test')
    return
  }
  const dataDir = join(disk, 'data')
  const service = await startService(t, 'sqlite', {
    ...roomy,
    SALLYPORT_DATA_DIR: dataDir,
    SALLYPORT_DISK_FLOOR_BYTES: String(32 * mebibyte),
  })
  const { token } = await service.register()
  const { example } = (await service.call('POST', '/v4/sandbox/start', { token })).body
  const call = () => service.call('POST', '/v4/proxy', { token, body: example.body })
  assert.equal((await call()).status, 200)
  const victim = await service.register()
  const reserve = join(dataDir, 'sallyport.db-reserve')
  assert.ok(existsSync(reserve))

  // Deleting the reserve frees space, which the other program fills too.
  fillDisk(join(disk, 'other-program'))
  await until(service, 503)
  await eventually(() => !existsSync(reserve), 'the reserve does not make room')
  const refused = await call()
  assert.deepEqual([refused.status, refused.body.error.code], [503, 'not_ready'])
  const admin = { token: service.adminToken }
  assert.equal((await service.call('POST', `/v4/agents/${victim.agentId}/disable`, admin)).status, 200)
  assert.equal((await service.call('GET', '/v4/agents/me', { token: victim.token })).status, 401)
  const issued = await service.call('POST', '/v4/auth/login-tokens', { ...admin, body: {} })
  const { session_token: session } = (
    await service.call('POST', '/v4/auth/login', { body: { login_token: issued.body.login_token } })
  ).body
  assert.equal((await service.call('GET', '/v4/grants', { token: session })).status, 200)
  assert.equal((await service.call('POST', '/v4/auth/logout-all', { token: session })).status, 200)
  assert.equal((await service.call('GET', '/v4/auth/me', { token: session })).status, 401)

  rmSync(join(disk, 'other-program'))
  await until(service, 200)
  const again = await call()
  assert.equal(again.status, 200, again.text)
  assert.ok(existsSync(reserve), 'the reserve is back')
  assert.equal((await service.call('GET', `/v4/agents?limit=5`, admin)).body.agents.length, 2)
})

test('a full disk under PostgreSQL is 503 for calls, and none is sent unrecorded', async (t) => {
  const disk = mountSmallDisk(t, 256)
  if (disk === undefined) {
    t.skip('only root can mount a disk for this test')
    return
  }
  const postgres = await startPostgres({ disk })
  t.after(() => postgres.stop())
  const service = await startService(t, 'postgres', { ...roomy, DATABASE_URL: postgres.url })
  const { token } = await service.register()
  const { example } = (await service.call('POST', '/v4/sandbox/start', { token })).body
  const call = () => service.call('POST', '/v4/proxy', { token, body: example.body })
  const answered: string[] = []
  const isServed = async () => {
    const { status, headers, body, text } = await call()
    if (status === 200) answered.push(body.audit_id)
    else assert.deepEqual([status, body.error.code, headers['retry-after']], [503, 'not_ready', '1'], text)
    return status === 200
  }
  assert.ok(await isServed())
  fillDisk(join(disk, 'other-program'))
  while (await isServed());
  rmSync(join(disk, 'other-program'))
  // PostgreSQL exits if there is no space for its log.
  await postgres.resume()
  await until(service, 200)
  await eventually(isServed, 'calls are refused for good')
  const record = await service.call('GET', '/v4/audit?format=ndjson&event=proxy.attempt', { token: service.adminToken })
  const attempts = record.text.trim().split('\n')
  assert.deepEqual(attempts.map((line) => (JSON.parse(line) as { audit_id: string }).audit_id).sort(), answered.sort())
  const verified = await runServer(t, ['audit', 'verify'], service.env)
  assert.equal(verified.code, 0, verified.stdout + verified.stderr)
})
