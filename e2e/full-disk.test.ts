import assert from 'node:assert/strict'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { roomy, startService } from './running-service.ts'
import type { RunningService } from './running-service.ts'
import { fillDisk, mountSmallDisk } from './small-disk.ts'

const mebibyte = 1024 * 1024

async function until(service: RunningService, status: number): Promise<void> {
  while ((await service.call('GET', '/readyz')).status !== status) await sleep(50)
}

test('on a disk that another program filled, revoking and disabling work, and all is well once there is room', async (t) => {
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

  // The reserve that is removed leaves room, which the other program takes as well.
  fillDisk(join(disk, 'other-program'))
  await until(service, 503)
  assert.ok(!existsSync(reserve), 'the reserve made room')
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
