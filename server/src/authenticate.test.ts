import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../testkit/databases.ts'
import { pairDevice } from '../testkit/device.ts'
import { startService } from '../testkit/service.ts'
import type { TestService } from '../testkit/service.ts'
import { mintToken } from './platform/tokens.ts'

interface Operation {
  method: string
  path: string
  /** The schemes of which one is needed; none: anyone may call. */
  schemes: string[]
}

async function operationsOf(service: TestService): Promise<Operation[]> {
  const { paths } = (await service.call('GET', '/openapi.json')).body
  return Object.entries<Record<string, { security: object[] }>>(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security }]) => ({
      method: method.toUpperCase(),
      path: path.replace('{id}', 'none_00000000000000000000000000'),
      schemes: security.flatMap((one) => Object.keys(one)),
    })),
  )
}

/** A call may use its credential up, so each gets a new one. */
function credentials(service: TestService): Record<string, () => Promise<Record<string, string>>> {
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  return {
    agent: async () => bearer((await service.registerAgent()).token),
    user: async () => bearer((await service.logIn()).token),
    cookie: async () => ({ cookie: (await service.logIn()).cookie, origin: service.config.baseUrl.origin }),
    device: async () => bearer((await pairDevice(service, await service.logIn())).token),
    admin: async () => bearer(service.adminToken),
  }
}

const plentiful = { SALLYPORT_REGISTRATIONS_PER_MINUTE: '1000', SALLYPORT_REGISTRATIONS_PER_DAY: '10000' }

const noCredentials: Record<string, Record<string, string>> = {
  none: {},
  'an empty header': { authorization: '' },
  'a bearer without a token': { authorization: 'Bearer' },
  'a bearer of two words': { authorization: 'Bearer a b' },
  'another scheme': { authorization: 'Basic YWRtaW46YWRtaW4=' },
  'a token without a scheme': { authorization: mintToken('agent').reveal() },
  'some text': { authorization: 'Bearer undefined' },
  'an unknown agent': { authorization: `Bearer ${mintToken('agent').reveal()}` },
  'an unknown session': { authorization: `Bearer ${mintToken('session').reveal()}` },
  'an unknown device': { authorization: `Bearer ${mintToken('device').reveal()}` },
  'an unknown admin': { authorization: `Bearer ${mintToken('admin').reveal()}` },
  'a login token': { authorization: `Bearer ${mintToken('login').reveal()}` },
  'an unknown cookie': { cookie: `svc_session=${mintToken('session').reveal()}`, origin: 'http://localhost:8787' },
  'a malformed cookie': { cookie: 'svc_session=%00; svc_session', origin: 'http://localhost:8787' },
  'an agent token as a cookie': {
    cookie: `svc_session=${mintToken('agent').reveal()}`,
    origin: 'http://localhost:8787',
  },
}

onBothDatabases('authenticate', (engine) => {
  test('exactly the routes that need a credential are unauthenticated without one', async (t) => {
    const service = await startService(t, engine, plentiful)
    for (const { method, path, schemes } of await operationsOf(service)) {
      for (const [kind, headers] of Object.entries(noCredentials)) {
        const { status, body, headers: answered } = await service.call(method, path, { headers })
        const what = `${method} ${path} with ${kind}: ${status}`
        if (schemes.length === 0) {
          assert.ok(![401, 403, 500].includes(status), what)
        } else {
          assert.deepEqual([status, body.error.code], [401, 'unauthenticated'], what)
          assert.equal(answered['www-authenticate'], 'Bearer')
        }
      }
    }
  })

  test('a valid credential is accepted exactly where the reference lists its kind', async (t) => {
    const service = await startService(t, engine, plentiful)
    const operations = await operationsOf(service)
    for (const [kind, make] of Object.entries(credentials(service))) {
      let headers = await make()
      for (const { method, path, schemes } of operations) {
        // Whom it admits it does not let go again: its own tests listen to it.
        if (path === '/v4/events' && schemes.includes(kind)) continue
        const { status, body } = await service.call(method, path, { headers })
        const what = `${method} ${path} as ${kind}: ${status}`
        if (schemes.length > 0 && !schemes.includes(kind)) {
          assert.deepEqual([status, body.error.code], [403, 'forbidden'], what)
        } else {
          assert.ok(![401, 403, 500].includes(status), what)
          headers = await make()
        }
      }
    }
  })

  test('the routes of the specification accept its kinds of callers', async (t) => {
    const service = await startService(t, engine)
    const user = ['user', 'cookie']
    const specified: [string, string, string[]][] = [
      ['POST', '/v4/proxy', ['agent']],
      ['POST', '/v4/agents/register', []],
      ['GET', '/v4/agents', ['admin']],
      ['POST', '/v4/sandbox/start', ['agent']],
      ['GET', '/v4/sandbox/echo', []],
      ['POST', '/v4/auth/login', []],
      ['GET', '/v4/auth/me', [...user, 'device']],
      ['POST', '/v4/auth/logout', user],
      ['POST', '/v4/auth/login-tokens', ['admin']],
      ['POST', '/v4/devices/pairing-codes', user],
      ['POST', '/v4/devices/pair', []],
      ['GET', '/v4/devices', [...user, 'device']],
      ['DELETE', '/v4/devices/none_00000000000000000000000000', [...user, 'device']],
      ['GET', '/v4/connections', [...user, 'device', 'admin']],
    ]
    const operations = await operationsOf(service)
    for (const [method, path, schemes] of specified) {
      const found = operations.find((one) => one.method === method && one.path === path)
      assert.deepEqual(found, { method, path, schemes })
    }
  })

  test('authentication happens before the body is read', async (t) => {
    const service = await startService(t, engine)
    for (const body of ['{', `"${'x'.repeat(300_000)}"`]) {
      const reply = await service.call('POST', '/v4/auth/login-tokens', { body })
      assert.equal(reply.status, 401)
    }
    const { token } = await service.registerAgent()
    assert.equal((await service.call('POST', '/v4/auth/login-tokens', { token, body: '{' })).status, 403)
  })

  test('a bearer token takes precedence, and an invalid one never falls back to a valid cookie', async (t) => {
    const service = await startService(t, engine)
    const { cookie } = await service.logIn()
    const { token } = await service.registerAgent()
    const status = async (path: string, authorization: string) =>
      (await service.call('GET', path, { headers: { cookie, authorization } })).status
    assert.equal(await status('/v4/agents/me', `Bearer ${token}`), 200)
    assert.equal(await status('/v4/auth/me', `Bearer ${token}`), 403)
    for (const bad of ['', 'Bearer', 'Basic x', 'Bearer x', `Bearer ${mintToken('session').reveal()}`]) {
      assert.equal(await status('/v4/auth/me', bad), 401, bad)
    }
    assert.equal((await service.call('GET', '/v4/auth/me', { headers: { cookie } })).status, 200)
  })

  test('the scheme is case-insensitive, the token is not', async (t) => {
    const service = await startService(t, engine)
    const { token } = await service.registerAgent()
    const status = async (authorization: string) =>
      (await service.call('GET', '/v4/agents/me', { headers: { authorization } })).status
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) assert.equal(await status(`${scheme} ${token}`), 200)
    assert.equal(await status(`Bearer ${token.toUpperCase()}`), 401)
    assert.equal(await status(`Bearer ${token}x`), 401)
    assert.equal(await status(`Bearer ${token.slice(0, -1)}`), 401)
  })

  test('a token of one kind is not accepted as another', async (t) => {
    const service = await startService(t, engine)
    const { token: agent } = await service.registerAgent()
    const { token: session } = await service.logIn()
    const { token: device } = await pairDevice(service, { token: session })
    const cases: [string, string][] = [
      [agent.replace('sp_agent_', 'sp_session_'), '/v4/auth/me'],
      [session.replace('sp_session_', 'sp_agent_'), '/v4/agents/me'],
      [session.replace('sp_session_', 'sp_device_'), '/v4/auth/me'],
      [device.replace('sp_device_', 'sp_session_'), '/v4/auth/me'],
      [service.adminToken.replace('sp_admin_', 'sp_agent_'), '/v4/agents/me'],
    ]
    for (const [token, path] of cases) assert.equal((await service.call('GET', path, { token })).status, 401)
  })

  test('while the admin token is changed, both are accepted, and nothing else that is made of them', async (t) => {
    const [fresh, former] = [mintToken('admin').reveal(), mintToken('admin').reveal()]
    const service = await startService(t, engine, { SALLYPORT_ADMIN_TOKEN: `${fresh},${former}` })
    const statusOf = async (token: string) => (await service.call('GET', '/v4/agents', { token })).status
    assert.deepEqual([await statusOf(fresh), await statusOf(former)], [200, 200])
    for (const token of [
      `${fresh},${former}`,
      `${former},${fresh}`,
      `${fresh},`,
      fresh.slice(1),
      mintToken('admin').reveal(),
    ]) {
      assert.equal(await statusOf(token), 401, token)
    }
    const withComma = `${'a'.repeat(20)},${'b'.repeat(20)}`
    const one = await startService(t, engine, { SALLYPORT_ADMIN_TOKEN: withComma })
    assert.equal((await one.call('GET', '/v4/agents', { token: withComma })).status, 200, 'a comma may be part of one')
    assert.equal((await one.call('GET', '/v4/agents', { token: 'b'.repeat(20) })).status, 401)
  })

  test('a HEAD needs the same credential as its GET', async (t) => {
    const service = await startService(t, engine)
    assert.equal((await service.call('HEAD', '/v4/agents')).status, 401)
    assert.equal((await service.call('HEAD', '/v4/agents', { token: service.adminToken })).status, 200)
  })

  test('a route under /v4 without declared callers stops the start', async (t) => {
    const { app } = await startService(t, engine)
    const start = async () => {
      app.http.get('/v4/forgotten', () => 'open to all')
      await app.http.ready()
    }
    await assert.rejects(start, /\/v4\/forgotten does not say whom it admits/)
  })
})
