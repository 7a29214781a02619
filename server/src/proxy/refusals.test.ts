import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { agentInSandbox } from '../../testkit/sandbox.ts'
import { startService } from '../../testkit/service.ts'

const elsewhere = { url: 'https://api.example.com/mail?secret=hunter2' }

onBothDatabases('refused calls', (engine) => {
  test('are recorded with the request', async (t) => {
    const service = await startService(t, engine)
    const { proxy, agentId, grantId } = await agentInSandbox(service)
    const { headers } = await proxy({ ...elsewhere, method: 'post' })
    const [record, ...others] = await recorded(service, 'proxy.')
    assert.deepEqual(others, [])
    assert.deepEqual(record, {
      audit_id: record?.audit_id,
      event: 'proxy.refused',
      at: service.clock.now().getTime(),
      request_id: headers['x-request-id'],
      agent_id: agentId,
      user_id: null,
      grant_id: grantId,
      detail: { code: 'host_not_allowed', method: 'POST', host: 'api.example.com', path: '/mail', query: ['secret'] },
    })
  })

  test('with an invalid grant or URL are recorded without it', async (t) => {
    const service = await startService(t, engine)
    const { proxy, grantId } = await agentInSandbox(service)
    await proxy({ grant_id: 'whatever the caller likes' })
    await proxy({ url: 'whatever the caller likes' })
    const records = await recorded(service, 'proxy.')
    assert.deepEqual(
      records.map(({ grant_id, detail }) => [grant_id, detail]),
      [
        [null, { code: 'grant_not_found' }],
        [grantId, { code: 'invalid_url' }],
      ],
    )
  })

  test('are all counted, also at the end of a minute', async (t) => {
    const service = await startService(t, engine)
    const { proxy } = await agentInSandbox(service)
    const some = () => Promise.all(Array.from({ length: 30 }, () => proxy(elsewhere)))
    for (let minute = 0; minute < 3; minute++) {
      await some()
      service.clock.advance(60)
    }
    await service.app.flushRefusals()
    const counts = (await recorded(service, 'proxy.refused')).map(({ detail }) => (detail.count ?? 1) as number)
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      90,
    )
  })

  test('are recorded one by one up to 20 a minute per agent and code, then counted in one record', async (t) => {
    const service = await startService(t, engine)
    const { proxy, agentId } = await agentInSandbox(service)
    const other = await agentInSandbox(service)
    for (let count = 0; count < 27; count++) await proxy(elsewhere)
    await proxy({ url: 'nonsense' })
    await other.proxy(elsewhere)
    const refused = async () => (await recorded(service, 'proxy.refused')).map(({ detail }) => detail)
    assert.equal((await refused()).length, 22, '20 of one code, one of another, one of another agent')
    service.clock.advance(60)
    await proxy(elsewhere)
    const later = (await recorded(service, 'proxy.refused')).slice(22)
    assert.deepEqual(
      later.map(({ agent_id, detail }) => [agent_id, detail.code, detail.count]),
      [
        [agentId, 'host_not_allowed', 7],
        [agentId, 'host_not_allowed', undefined],
      ],
    )
  })

  test('that were only counted are recorded by a flush, once', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_REFUSAL_RECORDS_PER_MINUTE: '2' })
    const { proxy } = await agentInSandbox(service)
    await Promise.all(Array.from({ length: 9 }, () => proxy(elsewhere)))
    assert.equal((await recorded(service, 'proxy.refused')).length, 2)
    await service.app.flushRefusals()
    await service.app.flushRefusals()
    const records = await recorded(service, 'proxy.refused')
    assert.deepEqual([records.length, records[2]?.detail], [3, { code: 'host_not_allowed', count: 7 }])
  })

  test('that were recorded by a flush still count towards the 20 of their minute', async (t) => {
    const service = await startService(t, engine, { SALLYPORT_REFUSAL_RECORDS_PER_MINUTE: '2' })
    const { proxy } = await agentInSandbox(service)
    for (let count = 0; count < 3; count++) await proxy(elsewhere)
    await service.app.flushRefusals()
    await proxy(elsewhere)
    assert.equal((await recorded(service, 'proxy.refused')).length, 3)
    service.clock.advance(60)
    await service.app.flushRefusals()
    assert.equal((await recorded(service, 'proxy.refused')).length, 4)
  })

  test("by the sandbox's rate limit are recorded too", async (t) => {
    const service = await startService(t, engine, { SALLYPORT_SANDBOX_BURST: '1' })
    const { proxy } = await agentInSandbox(service)
    await proxy()
    await proxy()
    const records = await recorded(service, 'proxy.')
    assert.deepEqual(records.map(({ event, detail }) => [event, detail.code]).sort(), [
      ['proxy.attempt', undefined],
      ['proxy.outcome', undefined],
      ['proxy.refused', 'rate_limited'],
    ])
  })
})
