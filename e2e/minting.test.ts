/** Several processes have one token issued for a credential. One that is killed meanwhile leaves a correct status. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startUpstream } from '../server/testkit/calling.ts'
import { sharedAuthority } from '../server/testkit/certificates.ts'
import { onBothDatabases } from '../server/testkit/databases.ts'
import { kinds } from '../server/testkit/minting.ts'
import { startForwardProxy } from '../server/testkit/forward-proxy.ts'
import type { ForwardProxy } from '../server/testkit/forward-proxy.ts'
import { freePort } from '../server/testkit/ports.ts'
import type { TokenIssuer } from '../server/testkit/token-issuer.ts'
import type { Reply } from './http-call.ts'
import { signIn, succeeded } from './person.ts'
import { roomy, startService } from './running-service.ts'
import type { Engine, RunningService } from './running-service.ts'

type Kind = keyof typeof kinds
const names = Object.keys(kinds) as Kind[]

interface Connected {
  service: RunningService
  server: TokenIssuer
  /** The company's proxy, and the only host that it should be asked for. */
  way: ForwardProxy & { host: string }
  /** A call with a token that has expired, through the service or another process of it. */
  proxy: (instance?: RunningService) => Promise<Reply>
  status: () => Promise<string>
}

/** An account whose first token has expired. Later ones are valid for an hour. */
async function connect(t: TestContext, engine: Engine, kind: Kind): Promise<Connected> {
  const server: TokenIssuer & { credential: object } = kinds[kind].create()
  server.lifetimeSeconds = 2
  const { host, url } = await startUpstream(t, server.answer)
  const proxy = await startForwardProxy(t)
  const service = await startService(t, engine, {
    ...roomy,
    SALLYPORT_EGRESS_PROXY: `http://127.0.0.1:${proxy.port}`,
    ...{ SALLYPORT_EGRESS_ALLOW: host, SALLYPORT_EGRESS_CA_FILE: (await sharedAuthority()).caFile },
    ...{ SALLYPORT_PROXY_RATE_PER_AGENT: '0', SALLYPORT_PROXY_IN_FLIGHT_PER_AGENT: '0' },
  })
  const { token } = await signIn(service)
  const call = async (method: string, path: string, caller: string, body?: object) =>
    succeeded(await service.call(method, path, { token: caller, ...(body && { body }) })).body
  const provider = {
    provider_name: 'Robots',
    slug: 'robots',
    api_hosts: [host],
    auth_methods: kinds[kind].methods(host),
  }
  await call('POST', '/v4/providers', service.adminToken, { ...provider, ...kinds[kind].provider(host) })
  const connection = { provider_slug: 'robots', credential: server.credential }
  const { connection_id } = await call('POST', '/v4/connections', token, connection)
  const agent = await service.register()
  const { access_request_id } = await call('POST', '/v4/access-requests', agent.token, { provider: 'robots' })
  const approval = `/v4/access-requests/${access_request_id}/approve`
  const { grant_id } = await call('POST', approval, token, { connection_id })
  server.lifetimeSeconds = 3600
  await sleep(2100)
  const headers = { host: `localhost:${service.port}` }
  return {
    service,
    server,
    way: { ...proxy, host },
    proxy: (instance = service) =>
      instance.call('POST', '/v4/proxy', { token: agent.token, headers, body: { grant_id, method: 'GET', url } }),
    status: async () => (await call('GET', '/v4/connections', token)).connections[0].status,
  }
}

for (const kind of names) {
  test(`${kind}: 50 calls on two processes with PostgreSQL on an expired token: one is issued, all succeed`, async (t) => {
    const { service, server, proxy, way } = await connect(t, 'postgres', kind)
    const other = await startService(t, 'postgres', {
      ...service.env,
      ...{ PORT: String(await freePort()), SALLYPORT_BASE_URL: `http://localhost:${service.port}` },
    })
    const before = server.asked()
    const held = server.hold()
    const calls = Array.from({ length: 50 }, (_, index) => proxy(index % 2 ? service : other))
    await held.arrived
    // Time for all others to ask for a token too, if they did.
    await sleep(500)
    held.release()
    const replies = await Promise.all(calls)
    assert.deepEqual(new Set(replies.map(({ status, body }) => `${status} ${body.status}`)), new Set(['200 200']))
    assert.equal(server.asked() - before, 1)
    assert.equal(server.tokens.length, 2)
    assert.deepEqual(
      new Set(way.targets.map((target) => target.replace(/.*:/, ''))),
      new Set([way.host.replace(/.*:/, '')]),
    )
    for (const token of server.tokens) assert.ok(!way.seen().includes(token))
  })
}

/** As if the service had been down until the lease of the process that was killed expired. */
async function letLeaseExpire({ env, dataDir }: RunningService, engine: Engine): Promise<void> {
  const update = 'update connections set refresh_lease_until = 1 where refresh_lease is not null'
  if (engine === 'sqlite') {
    const file = new DatabaseSync(join(dataDir, 'sallyport.db'))
    assert.equal(file.prepare(update).run().changes, 1)
    file.close()
    return
  }
  const client = new pg.Client({ connectionString: env['DATABASE_URL'] })
  await client.connect()
  assert.equal((await client.query(update)).rowCount, 1)
  await client.end()
}

onBothDatabases('a process killed while a token is issued', (engine) => {
  for (const kind of names) {
    test(`${kind}: the connection is not reported healthy until another one is issued`, async (t) => {
      const { service, server, proxy, status } = await connect(t, engine, kind)
      const held = server.hold()
      proxy().catch(() => undefined)
      await held.arrived
      assert.equal(await status(), 'needs_reauth', 'the token has expired, and there is no other yet')
      await service.kill()
      held.release()
      await service.startAgain()
      assert.equal(await status(), 'needs_reauth')
      await service.stop()
      await letLeaseExpire(service, engine)
      await service.startAgain()
      const { status: answered, body } = await proxy()
      assert.deepEqual([answered, body.status], [200, 200])
      assert.deepEqual([await status(), server.tokens.length], ['active', 3], 'the second one was lost')
    })
  }
})
