/** No list lets one caller keep everybody else waiting: each has pages, and counts against its caller's read budget. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../testkit/databases.ts'
import { startService } from '../testkit/service.ts'

/** Those that read one record by its key, or what is of a size that its caller does not set, or of 100 rows at most. */
const notLists = [
  '/v4/access-requests/{id}',
  '/v4/agents/keys',
  '/v4/agents/me',
  '/v4/audit/key',
  '/v4/audit/{id}',
  '/v4/auth/callback/{id}',
  '/v4/auth/login/{id}',
  '/v4/auth/me',
  '/v4/auth/providers',
  '/v4/calls/{id}',
  '/v4/calls/{id}/receipt',
  '/v4/events',
  '/v4/gateway',
  '/v4/gateway/ca.pem',
  '/v4/grants/{id}/receipt',
  // Searches the record too: call-log/grant-use-routes.test.ts
  '/v4/grants/{id}/usage',
  '/v4/health',
  '/v4/mail',
  '/v4/oauth/callback/{slug}',
  '/v4/oauth/resume',
  '/v4/pause',
  '/v4/sandbox/echo',
]
/** Not paged, but they search the record. */
const searches = ['/v4/audit/series']

interface Described {
  get?: { parameters?: { name: string }[] }
}

onBothDatabases('every list', (engine) => {
  test('is paginated and rate-limited for all callers but the admin, or listed here', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_ROWS_READ_PER_SECOND: '1' })
    const { call, clock, adminToken } = service
    const paths = Object.entries((await call('GET', '/openapi.json')).body.paths as Record<string, Described>)
    const reads = paths.filter(([path, { get }]) => path.startsWith('/v4/') && get)
    const lists = reads.filter(([, { get }]) => get?.parameters?.some(({ name }) => name === 'cursor'))
    const names = lists.map(([path]) => path)
    const others = reads.map(([path]) => path).filter((path) => !names.includes(path) && !searches.includes(path))
    assert.deepEqual(others.sort(), notLists)
    assert.ok(names.length >= 8)
    const agent = await service.registerAgent()
    const user = await service.logIn({ email: 'ada@example.com' })
    const limited: string[] = []
    for (const path of [...names, ...searches]) {
      for (const token of [agent.token, user.token]) {
        clock.advance(1000)
        const first = await call('GET', path, { token })
        if (first.status === 403) continue
        assert.equal(first.status, 200, path)
        const again = await call('GET', path, { token })
        assert.deepEqual([again.status, again.body.error.code], [429, 'rate_limited'], path)
        assert.ok(Number(again.headers['retry-after']) > 0)
        limited.push(path)
      }
      const admins = [await call('GET', path, { token: adminToken }), await call('GET', path, { token: adminToken })]
      for (const { status } of admins) assert.ok([200, 400, 403, 429].includes(status), `${path}: ${status}`)
    }
    const adminOnly = [...names, ...searches].filter((path) => !limited.includes(path))
    assert.deepEqual(adminOnly.sort(), ['/v4/agents', '/v4/users'])
  })

  test('counts per caller, and per address without a credential', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_ROWS_READ_PER_SECOND: '1' })
    const [one, other] = [await service.registerAgent(), await service.registerAgent()]
    const statusOf = async (token: string | undefined, from?: string) =>
      (await service.call('GET', '/v4/providers', { token, ...(from !== undefined && { from }) })).status
    const grants = async (token: string) => (await service.call('GET', '/v4/grants', { token })).status
    assert.deepEqual([await grants(one.token), await grants(one.token), await grants(other.token)], [200, 429, 200])
    assert.deepEqual([await statusOf(undefined, '192.0.2.1'), await statusOf(undefined, '192.0.2.1')], [200, 429])
    assert.equal(await statusOf(undefined, '192.0.2.2'), 200)
  })
})
