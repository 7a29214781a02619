import assert from 'node:assert/strict'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { startConnectionTest } from '../../../testkit/connections.ts'
import type { ConnectionTest } from '../../../testkit/connections.ts'
import { temporaryFolder } from '../../../testkit/databases.ts'
import { pairDevice } from '../../../testkit/device.ts'
import { insertGrant } from '../../../testkit/grants.ts'
import { databaseFile } from '../../platform/operations/instance.ts'
import { copySnapshot } from '../../platform/database/sqlite-copy.ts'
import { carryOver } from './carry-over.ts'

/** A copy of the service's database as it is now. */
async function copyOf(t: TestContext, { config }: ConnectionTest): Promise<string> {
  const copy = join(temporaryFolder(t), 'copy.db')
  closeSync(openSync(copy, 'wx', 0o600))
  await copySnapshot(databaseFile(config), copy)
  return copy
}

function open(t: TestContext, file: string): DatabaseSync {
  const database = new DatabaseSync(file)
  t.after(() => {
    database.close()
  })
  return database
}

function compare(t: TestContext, replaced: string, backup: string) {
  const comparison = carryOver(open(t, replaced), backup)
  const restored = open(t, backup)
  const column = (query: string) =>
    restored
      .prepare(query)
      .all()
      .map((row) => Object.values(row)[0])
  return { comparison, column }
}

test('what was taken away after the backup stays taken away', async (t) => {
  const service = await startConnectionTest(t, 'sqlite')
  const { call, adminToken, user } = service
  const connectionId = await service.connect()
  const { agentId, token } = await service.registerAgent()
  const disabled = await service.registerAgent()
  const other = await service.logIn({ email: 'eve@example.com' })
  const back = await service.logIn({ email: 'grace@example.com' })
  const phone = await pairDevice(service, back)
  const terms = { agentId, userId: user.userId, connectionId, maxCalls: 5 }
  const revoked = await insertGrant(service, terms)
  const standing = await insertGrant(service, terms)
  const backup = await copyOf(t, service)
  service.clock.advance(60)
  const succeed = async (...[method, path, what]: Parameters<typeof call>) => {
    const { status, text, body } = await call(method, path, what)
    assert.ok(status < 300, text)
    return body
  }
  await succeed('POST', `/v4/grants/${revoked.grantId}/revoke`, { token: user.token })
  await succeed('POST', `/v4/agents/${disabled.agentId}/disable`, { token: adminToken })
  await succeed('POST', `/v4/users/${other.userId}/disable`, { token: adminToken })
  for (const verb of ['disable', 'enable'])
    await succeed('POST', `/v4/users/${back.userId}/${verb}`, { token: adminToken })
  await succeed('POST', '/v4/agents/rotate-token', { token, body: {} })
  await succeed('PUT', '/v4/pause', { token: user.token, body: {} })
  await service.database.queries
    .updateTable('grant_usage')
    .set({ calls: 4 })
    .where('grant_id', '=', standing.grantId)
    .execute()
  const lost = await insertGrant(service, {
    ...terms,
    agentId: (await service.registerAgent('A "late" agent')).agentId,
  })

  const { comparison, column } = compare(t, await copyOf(t, service), backup)
  assert.deepEqual(
    comparison?.lostGrants.map(({ grantId, agent }) => [grantId, agent]),
    [[lost.grantId, 'A "late" agent']],
  )
  assert.ok(comparison.lostRecords > 5)
  assert.equal(comparison.lostHeads.length > 0, true)
  assert.deepEqual(column('select grant_id from grants where revoked_at is not null'), [revoked.grantId])
  assert.deepEqual(column('select calls from grant_usage order by calls'), [0, 4])
  assert.deepEqual(column('select agent_id from agents where disabled_at is not null'), [disabled.agentId])
  assert.deepEqual(column('select user_id from users where disabled_at is not null'), [other.userId])
  assert.deepEqual(column('select device_id from devices where key_enrolled_at is null'), [phone.deviceId])
  assert.deepEqual(column('select scope from pauses'), [user.userId])
  assert.equal(comparison.kept['agent tokens'], 1)
})

test('a revoked connection stays revoked and has no tokens, a renewed one keeps its newest token', async (t) => {
  const service = await startConnectionTest(t, 'sqlite')
  const revoked = await service.connect()
  const backup = await copyOf(t, service)
  assert.equal((await service.call('DELETE', `/v4/connections/${revoked}`, { token: service.user.token })).status, 200)
  const { comparison, column } = compare(t, await copyOf(t, service), backup)
  assert.equal(comparison?.kept['connections'], 1)
  assert.deepEqual(column('select status from connections'), ['revoked'])
  assert.deepEqual(column('select access_token from connections'), [null])

  const renewed = await service.connect()
  const before = await copyOf(t, service)
  const newest = Buffer.from('sealed anew')
  const { queries } = service.database
  const change = { version: 7, access_token: newest }
  await queries.updateTable('connections').set(change).where('connection_id', '=', renewed).execute()
  const later = compare(t, await copyOf(t, service), before)
  assert.equal(later.comparison?.kept['tokens'], 1)
  const found = later.column(`select access_token from connections where connection_id = '${renewed}'`)
  assert.deepEqual(
    found.map((bytes) => Buffer.from(bytes as Uint8Array)),
    [newest],
  )
})

test('nothing is compared with a database of another schema, or one that is damaged', async (t) => {
  const service = await startConnectionTest(t, 'sqlite')
  const backup = await copyOf(t, service)
  const newer = await copyOf(t, service)
  new DatabaseSync(newer).exec(`insert into migrations (number, name, applied_at) values (900, 'later', 0)`)
  assert.equal(compare(t, newer, backup).comparison, undefined)
  const partial = await copyOf(t, service)
  new DatabaseSync(partial).exec('drop table muted_agents; update users set disabled_at = 1')
  const { comparison, column } = compare(t, partial, backup)
  assert.equal(comparison, undefined)
  assert.deepEqual(column('select disabled_at from users'), [null], 'all or nothing')
})
