import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCalling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'

onBothDatabases('the use of a grant', (engine) => {
  test('is what it called in the last 30 days, with narrower terms that would have been enough', async (t) => {
    const calling = await startCalling(t, engine, {
      answer: (response, { path }) => response.writeHead(path === '/moved' ? 302 : 200, { location: '/mail/2' }).end(),
    })
    const { service, upstream, grantId, userId } = calling
    const { token } = await service.logIn({ user_id: userId })
    const use = async () => (await service.call('GET', `/v4/grants/${grantId}/usage`, { token })).body
    const at = (path: string) => ({ url: `https://${upstream.host}${path}` })
    await calling.proxy({ ...at('/forgotten'), method: 'DELETE' })
    await calling.records()
    service.clock.advance(31 * 86_400)
    const { token: later } = await service.logIn({ user_id: userId })
    const before = (await service.call('GET', `/v4/grants/${grantId}/usage`, { token: later })).body
    assert.deepEqual([before.calls, before.suggestion], [0, null])
    await calling.proxy(at('/mail/1'))
    await calling.proxy({ ...at('/moved'), follow_redirects: true })
    await calling.proxy({ ...at('/refused'), url: 'https://elsewhere.example/refused' })
    await calling.records()
    const { body } = await service.call('GET', `/v4/grants/${grantId}/usage`, { token: later })
    const paths = ['/mail/1', '/mail/2', '/moved']
    assert.deepEqual(body, {
      ...{ grant_id: grantId, since: body.since, complete_since: null, calls: 2 },
      ...{ methods: ['GET'], hosts: [upstream.host], paths },
      suggestion: { allowed_methods: ['GET'], allowed_paths: paths },
    })
    assert.equal((await use()).error?.code, 'unauthenticated', 'of a session that has ended')
    const stranger = await service.logIn({ email: 'eve@example.com' })
    const foreign = await service.call('GET', `/v4/grants/${grantId}/usage`, { token: stranger.token })
    assert.equal(foreign.status, 404)
  })

  test('counts against what its reader may read', async (t) => {
    const settings = { SALLYPORT_ROWS_READ_PER_SECOND: '1' }
    const { service, grantId, userId } = await startCalling(t, engine, { settings })
    const { token } = await service.logIn({ user_id: userId })
    const statuses = []
    for (let again = 0; again < 2; again++) {
      statuses.push((await service.call('GET', `/v4/grants/${grantId}/usage`, { token })).status)
    }
    assert.deepEqual(statuses, [200, 429])
  })
})
