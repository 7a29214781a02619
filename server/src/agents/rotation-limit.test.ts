import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'

onBothDatabases('an agent', (engine) => {
  test('can rotate its token 60 times an hour, and keeps it when refused', async (t) => {
    const { call, clock, database, registerAgent } = await startService(t, engine)
    let { token } = await registerAgent()
    for (let turn = 0; turn < 60; turn++) {
      const { status, body } = await call('POST', '/v4/agents/rotate-token', { token })
      assert.equal(status, 200)
      token = body.access_token as string
    }
    const refused = await call('POST', '/v4/agents/rotate-token', { token })
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'rate_limited'])
    assert.equal(refused.headers['retry-after'], '60')
    assert.equal((await call('GET', '/v4/agents/me', { token })).status, 200)
    const { rotations } = await database.queries
      .selectFrom('audit_records')
      .select((q) => q.fn.countAll<number>().as('rotations'))
      .where('event', '=', 'agent.token_rotated')
      .executeTakeFirstOrThrow()
    assert.equal(rotations, 60)
    clock.advance(60)
    assert.equal((await call('POST', '/v4/agents/rotate-token', { token })).status, 200)
  })
})
