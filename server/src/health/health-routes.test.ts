import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startAccessTest } from '../../testkit/access-requests.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { acme } from '../../testkit/providers.ts'
import { startService } from '../../testkit/service.ts'
import { findingsOf } from '../config/findings.ts'

onBothDatabases('health', (engine) => {
  test('is readable by the admin only', async (t) => {
    const service = await startService(t, engine)
    const { token: agent } = await service.registerAgent()
    const { token: user } = await service.logIn()
    for (const [token, expected] of [
      [undefined, 401],
      [agent, 403],
      [user, 403],
      [service.adminToken, 200],
    ] as const) {
      assert.equal((await service.call('GET', '/v4/health', { token })).status, expected)
    }
  })

  test('of an idle service', async (t) => {
    const { call, adminToken, clock, app, logIn } = await startService(t, engine)
    const health = async () => (await call('GET', '/v4/health', { token: adminToken })).body
    const { version, database, findings, ...rest } = await health()
    assert.match(version, /^\d+\.\d+\.\d+/)
    assert.equal(database.engine, engine)
    assert.ok(database.migration >= 6 && database.migration === database.newest_migration)
    const empty = { waiting: 0, due: 0, oldest_due_at: null }
    assert.deepEqual(rest, {
      started_at: clock.now().toISOString(),
      workers: 1,
      outboxes: { callbacks: empty, pushes: empty },
      connections: { needs_reauth: 0 },
      providers: { pending_credentials: 0 },
      audit: { last_head: null },
      push: { web: true, apns: false, fcm: false },
    })
    const levels = Object.fromEntries(findings.map((one: any) => [one.what, one.level]))
    assert.deepEqual([levels['settings'], levels['push'], levels['legacy v1']], ['well', 'well', 'warning'])
    assert.ok(!JSON.stringify(findings).includes(adminToken))
    clock.advance(60)
    await logIn({ email: 'ada@example.com' })
    await app.signRecord()
    const { audit } = await health()
    assert.match(audit.last_head.text, /^sallyport-audit-head\.v1\.chn_/)
    assert.equal(audit.last_head.signed_at, clock.now().toISOString())
  })

  test('of a service with backlogs', async (t) => {
    const service = await startAccessTest(t, engine)
    const { asked, approve, call, adminToken, clock, database } = service
    const callback_url = 'https://receiver.invalid/hook'
    const id = await asked({ callback_url })
    await asked({ callback_url })
    await approve(id)
    // A receiver that can not be found: the delivery was tried, and waits for the next time.
    await service.app.jobsEnded()
    clock.advance(3_600)
    const body = { ...acme, provider_name: 'Proposed', slug: 'proposed' }
    await call('POST', '/v4/providers', { token: adminToken, body })
    await database.queries.updateTable('connections').set({ status: 'needs_reauth' }).execute()
    const { body: health } = await call('GET', '/v4/health', { token: adminToken })
    const { callbacks, pushes } = health.outboxes
    assert.deepEqual([callbacks.waiting, callbacks.due, pushes.waiting], [1, 1, 0])
    assert.ok(Date.parse(callbacks.oldest_due_at) < clock.now().getTime())
    assert.equal(health.connections.needs_reauth, 1)
    assert.equal(health.providers.pending_credentials, 1)
    const waiting = await call('GET', '/v4/providers?status=pending_credentials', { token: adminToken })
    assert.deepEqual(
      waiting.body.providers.map((one: any) => [one.slug, one.status, one.client_id]),
      [['proposed', 'pending_credentials', null]],
    )
  })

  test('lists unknown settings', async (t) => {
    const { config, clock } = await startService(t, engine)
    const [settings] = findingsOf(config, ['SALLYPORT_PROT'], clock.now)
    assert.deepEqual([settings?.level, settings?.words], ['wrong', 'unknown: SALLYPORT_PROT. Are they misspelled?'])
  })
})
