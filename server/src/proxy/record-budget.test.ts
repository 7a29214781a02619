import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { agentInSandbox } from '../../testkit/sandbox.ts'
import { startService } from '../../testkit/service.ts'
import type { TestService } from '../../testkit/service.ts'
import { auditChainStore } from '../audit/audit-chain-store.ts'
import { recordColumns } from '../audit/audit-hash.ts'
import { createAuditKeyStore } from '../audit/audit-key-store.ts'
import { verifyAudit } from '../audit/verify-audit.ts'
import type { Engine } from '../platform/database/database.ts'

const kibibyte = 1024
const perAgent = 64 * kibibyte
const ofAll = 1024 * kibibyte
const day = 86_400

function startBudgeted(t: TestContext, engine: Engine): Promise<TestService> {
  return startService(t, engine, {
    SALLYPORT_UNAPPROVED_BYTES_PER_AGENT_DAY: String(perAgent),
    SALLYPORT_UNAPPROVED_BYTES_PER_DAY: String(ofAll),
    SALLYPORT_SANDBOX_BURST: '10000',
    SALLYPORT_REGISTRATIONS_PER_MINUTE: '1000',
  })
}

/** What all records of calls take: their columns as text, and a hash and a MAC for each. */
async function storedBytes({ database }: TestService): Promise<number> {
  const query = database.queries.selectFrom('audit_records').select(recordColumns)
  const rows = await query.where('event', 'like', 'proxy.%').execute()
  return rows.reduce((sum, row) => sum + recordColumns.map((column) => row[column]).join('').length + 64, 0)
}

/** As long as anything that an agent writes can be. */
const long = `${'a'.repeat(3000)}?${Array.from({ length: 200 }, (_, index) => `${'n'.repeat(20)}${index}=1`).join('&')}`

async function verdict({ database, vault }: TestService) {
  const key = await createAuditKeyStore(vault).find(database.queries)
  assert.ok(key)
  const onProgress = () => undefined
  return verifyAudit({ database, chains: auditChainStore, key, onProgress })
}

onBothDatabases("records of calls without a user's approval", (engine) => {
  test('one agent cannot store more than its budget by sandbox calls, refusals and keyed calls', async (t) => {
    const service = await startBudgeted(t, engine)
    const { proxy, echoUrl, token, grantId } = await agentInSandbox(service)
    const keyed = (key: string) => {
      const body = { grant_id: grantId, method: 'POST', url: echoUrl, body: 'x'.repeat(1000) }
      return service.call('POST', '/v4/proxy', { token, body, headers: { 'idempotency-key': key } })
    }
    const statuses = new Set<number>()
    for (let call = 0; call < 40; call++) {
      const answers = [
        await proxy({ url: `${echoUrl}/${long}` }),
        await proxy({ url: `https://elsewhere.example/${long}` }),
        await keyed(`key-${call}`),
      ]
      for (const { status } of answers) statuses.add(status)
      service.clock.advance(3)
    }
    await service.app.flushRefusals()
    assert.deepEqual([...statuses].sort(), [200, 403, 429])
    assert.ok((await storedBytes(service)) < perAgent)
    const { error } = (await proxy({ url: echoUrl })).body
    assert.equal(error.code, 'rate_limited')
    service.clock.advance(day)
    const { body } = await service.call('POST', '/v4/sandbox/start', { token })
    assert.equal((await proxy({ grant_id: body.grant_id })).status, 200, 'the next day it goes on')
  })

  test('many agents together cannot exceed the total budget, and every refusal is counted', async (t) => {
    const service = await startBudgeted(t, engine)
    const refusals = { perAgent: 15, agents: 20 }
    const agents = []
    for (let agent = 0; agent < refusals.agents; agent++) agents.push(await agentInSandbox(service))
    for (const { proxy, echoUrl } of agents) {
      const url = `https://elsewhere.example/${long}`
      await Promise.all(Array.from({ length: refusals.perAgent }, () => proxy({ url })))
      for (let call = 0; call < 20; call++) await proxy({ url: `${echoUrl}/${long}` })
    }
    service.clock.advance(60)
    await service.app.flushRefusals()
    assert.ok((await storedBytes(service)) < ofAll)
    const refused = (await recorded(service, 'proxy.refused')).filter(
      ({ detail }) => detail.code === 'host_not_allowed',
    )
    const counts = refused.map(({ detail }) => (detail.count ?? 1) as number)
    const all = counts.reduce((sum, count) => sum + count, 0)
    assert.equal(all, refusals.perAgent * refusals.agents)
  })

  test('are kept for a week, while approved calls stay, and both verify', async (t) => {
    const service = await startService(t, engine)
    const { proxy, echoUrl } = await agentInSandbox(service)
    await proxy({ url: echoUrl })
    await proxy({ url: 'https://elsewhere.example/' })
    await service.app.settle()
    await service.app.signRecord()
    const events = async () => (await recorded(service, '')).map(({ event }) => event)
    assert.ok((await events()).includes('proxy.refused'))
    assert.deepEqual((await verdict(service)).findings, [])
    service.clock.advance(6 * day)
    await service.app.sweep()
    assert.ok((await events()).includes('proxy.attempt'))
    service.clock.advance(2 * day)
    await service.app.sweep()
    const left = await events()
    assert.deepEqual(
      left.filter((event) => event.startsWith('proxy.')),
      [],
    )
    const { findings, removed } = await verdict(service)
    assert.deepEqual(findings, [])
    assert.ok(removed >= 3)
  })
})
