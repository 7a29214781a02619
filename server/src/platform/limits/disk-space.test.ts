import assert from 'node:assert/strict'
import { statfsSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startService } from '../../../testkit/service.ts'

/** A floor larger than any disk, so that the service considers its disk full. */
const full = { SALLYPORT_DISK_FLOOR_BYTES: '900000000000' }

test('on a full disk readiness fails and liveness does not', async (t) => {
  const { call } = await startService(t, 'sqlite', full)
  assert.equal((await call('GET', '/readyz')).status, 503)
  assert.equal((await call('GET', '/healthz')).status, 200)
})

test('on a full disk only writes that revoke access work', async (t) => {
  const { app, call } = await startService(t, 'sqlite', full)
  await app.http.ready()
  const working: string[] = []
  for (const [path, methods] of Object.entries(app.http.swagger().paths ?? {}) as [string, object][]) {
    for (const method of Object.keys(methods).map((name) => name.toUpperCase())) {
      // Without a credential, which is checked after the disk space.
      const { status } = await call(method, path.replaceAll(/\{\w+\}/g, 'x'), { body: {} })
      if (method !== 'GET' && status !== 503) working.push(`${method} ${path}`)
    }
  }
  assert.deepEqual(working.sort(), [
    'DELETE /v4/agents/keys/{id}',
    'DELETE /v4/auth/sessions/{id}',
    'DELETE /v4/calls/repeats/{id}',
    'DELETE /v4/connections/{id}',
    'DELETE /v4/devices/{id}',
    'POST /v4/access-requests/{id}/cancel',
    'POST /v4/access-requests/{id}/deny',
    'POST /v4/agents/rotate-token',
    'POST /v4/agents/{id}/disable',
    'POST /v4/auth/login',
    'POST /v4/auth/login-tokens',
    'POST /v4/auth/login/preview',
    'POST /v4/auth/logout',
    'POST /v4/auth/logout-all',
    'POST /v4/calls/{id}/cancel',
    'POST /v4/calls/{id}/deny',
    'POST /v4/devices/challenge',
    'POST /v4/grants/{id}/revoke',
    'POST /v4/muted-agents/{id}/block',
    'POST /v4/providers/{id}/disable',
    'POST /v4/users/{id}/disable',
    'PUT /v4/pause',
  ])
})

test('while disk space is low, registrations are refused but users can work', async (t) => {
  const { bavail, bsize } = statfsSync(tmpdir())
  const floor = { SALLYPORT_DISK_FLOOR_BYTES: String(Math.floor((bavail * bsize) / 2)) }
  const { call, logIn } = await startService(t, 'sqlite', floor)
  const { status, body } = await call('POST', '/v4/agents/register', { body: { name: 'a stranger' } })
  assert.deepEqual([status, body.error.code, body.error.retryable], [503, 'not_ready', true])
  const { token } = await logIn()
  assert.equal((await call('POST', '/v4/devices/pairing-codes', { token })).status, 201)
  assert.equal((await call('GET', '/readyz')).status, 200)
})

test('a reserve file is allocated in case other programs fill the disk', async (t) => {
  const { call, config } = await startService(t, 'sqlite', { SALLYPORT_DISK_FLOOR_BYTES: '1048576' })
  await call('GET', '/readyz')
  const { size, mode } = statSync(join(config.dataDir, 'sallyport.db-reserve'))
  assert.deepEqual([size, mode & 0o777], [262_144, 0o600])
})
