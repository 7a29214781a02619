/** Clocks of machines that are off, or jump: nobody is refused for that, and nothing lasts longer for that. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { migratedPostgres } from '../testkit/databases.ts'
import { fixedClock } from '../testkit/clock.ts'
import type { FixedClock } from '../testkit/clock.ts'
import { insertConnection } from '../testkit/calling.ts'
import { acme, client } from '../testkit/providers.ts'
import { agentInSandbox } from '../testkit/sandbox.ts'
import { startService } from '../testkit/service.ts'
import type { TestService } from '../testkit/service.ts'
import { createConnectionStore } from './connections/connection-store.ts'
import { refreshLeaseMs } from './connections/fresh-token.ts'
import { createRefreshStore } from './connections/refresh-store.ts'
import { followDatabaseClock } from './platform/database/database-clock.ts'
import { openPostgres } from './platform/database/postgres.ts'
import { Secret } from './platform/secret.ts'
import { mintToken } from './platform/tokens.ts'
import { newMasterKey } from './platform/vault/master-keys.ts'

const minutes = 60_000
const hour = 60 * minutes

interface Machine {
  service: TestService
  /** How far its clock is off. */
  jump: (offsetMs: number) => void
}

/** Instances on one PostgreSQL, each on a machine whose clock is off by so much. Time passes when it is told to. */
async function startMachines(t: TestContext, offsets: number[], settings: Record<string, string> = {}) {
  const url = await migratedPostgres(t)
  const shared = {
    DATABASE_URL: url,
    SALLYPORT_ADMIN_TOKEN: mintToken('admin').reveal(),
    SALLYPORT_MASTER_KEY: newMasterKey().text.reveal(),
    ...settings,
  }
  const asked = openPostgres(new Secret(url), { isInsecure: false })
  t.after(() => asked.close())
  let passedMs = 0
  const advance = (seconds: number) => {
    passedMs += seconds * 1000
  }
  const machines: Machine[] = []
  for (const offset of offsets) {
    let offsetMs = offset
    const startedAt = Date.now()
    const system = () => new Date(startedAt + passedMs + offsetMs)
    const { now, offsetMs: seen } = await followDatabaseClock(asked, system, () => passedMs)
    const clock: FixedClock = { now, advance, offsetMs: seen }
    const service = await startService(t, 'postgres', shared, clock)
    machines.push({
      service,
      jump: (ms) => {
        offsetMs = ms
      },
    })
  }
  return { machines, advance }
}

async function expireAt({ database }: TestService, grantId: string, at: Date): Promise<void> {
  const change = { expires_at: at.getTime() }
  await database.queries.updateTable('grants').set(change).where('grant_id', '=', grantId).execute()
}

for (const skew of [15_000, hour]) {
  test(`instances whose clocks differ by ${skew / 1000} s share rates, grants and leases`, async (t) => {
    const settings = { SALLYPORT_REGISTRATIONS_PER_DAY: '6', SALLYPORT_REGISTRATIONS_PER_MINUTE: '100' }
    const { machines, advance } = await startMachines(t, [skew, -skew], settings)
    const [ahead, behind] = machines as [Machine, Machine]

    // Rates: none is refused early, and the refusal tells the time that it really takes.
    const { proxy, token, grantId, echoUrl } = await agentInSandbox(ahead.service)
    const register = async ({ service }: Machine) =>
      service.call('POST', '/v4/agents/register', { body: { name: 'a' } })
    for (const machine of [behind, ahead, behind, ahead, behind]) assert.equal((await register(machine)).status, 201)
    for (const machine of machines) {
      const refused = await register(machine)
      assert.equal(refused.status, 429)
      const seconds = Number(refused.headers['retry-after'])
      assert.ok(seconds > 0 && seconds <= 86_400 / 6 + 5, `${seconds}`)
    }

    // Grants end for both at once, also where a clock jumps meanwhile.
    const body = { grant_id: grantId, method: 'GET', url: echoUrl }
    const statuses = async () => [
      (await proxy()).status,
      (await behind.service.call('POST', '/v4/proxy', { token, body })).status,
    ]
    await expireAt(ahead.service, grantId, new Date(ahead.service.clock.now().getTime() + 5 * minutes))
    assert.deepEqual(await statuses(), [200, 200])
    ahead.jump(2 * hour)
    behind.jump(-2 * hour)
    assert.deepEqual(await statuses(), [200, 200])
    advance(4 * 60)
    assert.deepEqual(await statuses(), [200, 200])
    advance(60 + 5)
    assert.deepEqual(await statuses(), [403, 403])

    // The difference is shown.
    const shown = await Promise.all(machines.map(async ({ service }) => (await service.call('GET', '/readyz')).body))
    for (const [index, expected] of [2 * hour, -2 * hour].entries()) {
      assert.ok(Math.abs(shown[index].clock_offset_ms - expected) < minutes, JSON.stringify(shown[index]))
    }
    const figures = await behind.service.app.metrics.text()
    assert.match(figures, /^sallyport_clock_offset_seconds -7[12]\d\d(\.\d+)?$/m)
  })
}

test('a lease of one instance is respected by all and expires for all at the same time', async (t) => {
  const { machines, advance } = await startMachines(t, [hour, -hour])
  const [one, other] = machines.map(({ service }) => service) as [TestService, TestService]
  const { userId } = await one.logIn()
  const made = await one.call('POST', '/v4/providers', { token: one.adminToken, body: { ...acme, ...client } })
  const connectionId = await insertConnection(one, userId, made.body.provider_id)
  const take = async ({ vault, database, clock }: TestService, id: string) => {
    const connection = await createConnectionStore(vault).findOfUser(database.queries, userId, connectionId)
    assert.ok(connection)
    const now = clock.now()
    const lease = { id, now, until: new Date(now.getTime() + refreshLeaseMs) }
    return createRefreshStore(vault).takeLease(database.queries, connection, lease)
  }
  assert.ok(await take(one, 'first'))
  assert.ok(!(await take(other, 'second')), 'it is held')
  advance(refreshLeaseMs / 1000 - 10)
  assert.ok(!(await take(other, 'second')), 'it is still held')
  advance(15)
  assert.ok(await take(other, 'second'))
  assert.ok(!(await take(one, 'first')))
})

for (const jump of [15_000, -15_000, hour, -hour]) {
  test(`a single instance whose clock jumps by ${jump / 1000} s locks nobody out`, async (t) => {
    const clock = fixedClock()
    const service = await startService(t, 'sqlite', {}, clock)
    const { proxy, grantId } = await agentInSandbox(service)
    await expireAt(service, grantId, new Date(clock.now().getTime() + 24 * hour))
    const session = await service.logIn({ email: 'ada@example.com' })
    const works = async () => {
      assert.equal((await proxy()).status, 200)
      assert.equal((await service.call('GET', '/v4/auth/me', { token: session.token })).status, 200)
      assert.equal((await service.call('GET', '/readyz')).status, 200)
    }
    await works()
    clock.advance(jump / 1000)
    await works()
    await service.registerAgent()
    await service.logIn({ email: 'bob@example.com' })
    await service.app.catchUp()
    clock.advance(-jump / 1000)
    await works()
  })
}
