import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { startCalling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'

onBothDatabases('long URLs', (engine) => {
  test("the size of one call's record is limited", async (t) => {
    const { app, call, config, database, registerAgent } = await startService(t, engine)
    const { token } = await registerAgent()
    const { grant_id, echo_url } = (await call('POST', '/v4/sandbox/start', { token })).body
    const origin = config.baseUrl.origin
    const urls = [
      `${origin}/${'€'.repeat(8000)}`,
      `https://${'a.'.repeat(4000)}example/`,
      `${echo_url}?${'€'.repeat(8000)}=1`,
      `${echo_url}?${Array.from({ length: 1200 }, (_, index) => `p${index}`).join('&')}`,
    ]
    for (const url of urls) await call('POST', '/v4/proxy', { token, body: { grant_id, method: 'GET', url } })
    await app.settle()
    const records = await database.queries
      .selectFrom('audit_records')
      .select(['event', 'detail'])
      .where('event', 'in', ['proxy.attempt', 'proxy.refused'])
      .execute()
    assert.deepEqual(
      records.map(({ event }) => event),
      ['proxy.refused', 'proxy.refused', 'proxy.attempt', 'proxy.attempt'],
    )
    for (const { detail } of records) assert.ok(detail.length < 2_000, `${detail.length} characters`)
  })

  test('a URL of ordinary length is recorded completely', async (t) => {
    const { proxy, service, upstream } = await startCalling(t, engine)
    const path = `/${'a'.repeat(500)}`
    const names = Array.from({ length: 40 }, (_, index) => `parameter-${index}`)
    await proxy({ url: `${new URL(upstream.url).origin}${path}?${names.join('&')}` })
    const [attempt] = await recorded(service, 'proxy.attempt')
    assert.deepEqual([attempt?.detail.path, attempt?.detail.query], [path, names])
  })
})
