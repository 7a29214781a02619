import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from 'kysely'
import { slug, startConnectionTest } from '../testkit/connections.ts'
import { onBothDatabases, temporaryFolder } from '../testkit/databases.ts'
import { migratedDatabase } from '../testkit/open-database.ts'
import type { Database } from './platform/database/database.ts'
import { masterKeySource } from './platform/operations/instance.ts'
import { newMasterKey } from './platform/vault/master-keys.ts'
import { rotateKeys } from './platform/vault/rotate.ts'
import { sealedColumns } from './sealed-columns.ts'

async function columnsOf({ engine, queries }: Database): Promise<string[]> {
  const query =
    engine === 'sqlite'
      ? sql<{ name: string }>`select m.name || '.' || c.name as name
          from sqlite_master m join pragma_table_info(m.name) c where m.type = 'table'`
      : sql<{ name: string }>`select table_name || '.' || column_name as name
          from information_schema.columns where table_schema = 'public'`
  return (await query.execute(queries)).rows.map(({ name }) => name)
}

/** How many values are sealed under each key. */
async function keysIn({ queries }: Database, { table, column }: { table: string; column: string }) {
  const keyId = sql.ref(`${column}_key_id`)
  const { rows } = await sql<{ key_id: string }>`
    select distinct ${keyId} as key_id from ${sql.table(table)} where ${keyId} is not null`.execute(queries)
  return rows.map(({ key_id }) => key_id)
}

onBothDatabases('sealed columns', (engine) => {
  test('every column with a data key is re-encrypted by a rotation', async (t) => {
    const open = await migratedDatabase(t, engine)
    const columns = await columnsOf(open())
    const sealed = columns
      .filter((name) => name.endsWith('_key_id') && !name.startsWith('vault_keys.'))
      .map((name) => name.slice(0, -'_key_id'.length))
    assert.ok(sealed.length >= 9)
    const listed = sealedColumns.map(({ table, column }) => `${table}.${column}`)
    assert.deepEqual(
      sealed.filter((name) => !listed.includes(name)),
      [],
    )
    for (const { table, column, rowColumn, ownerColumn } of sealedColumns) {
      for (const name of [column, rowColumn, ownerColumn]) assert.ok(columns.includes(`${table}.${name}`))
    }
  })

  test('after a rotation all connection data is re-encrypted and works', async (t) => {
    const keyFile = join(temporaryFolder(t), 'master-key')
    writeFileSync(keyFile, newMasterKey().text.reveal(), { mode: 0o600 })
    const test = await startConnectionTest(t, engine, {
      settings: { SALLYPORT_MASTER_KEY: undefined, SALLYPORT_MASTER_KEY_FILE: keyFile },
    })
    const { call, config, database, vault, clock, oauth, user, connect, start, follow } = test
    const { token } = user
    const id = await connect()
    await connect()
    const landed = await follow(await oauth.approve(await start(user), { account: 'waiting' }))
    const { body } = await call('POST', '/v4/oauth/device/start', { token, body: { provider_slug: slug } })
    await oauth.approveDevice(body.user_code, { account: 'device' })
    const elsewhere = new Set(['sandboxes', 'login_flows', 'devices', 'callbacks', 'keyed_calls', 'v1_service_keys'])
    for (const table of ['v1_clients', 'v1_items', 'held_calls', 'call_repeats', 'gateway_authorities'])
      elsewhere.add(table)
    const ours = sealedColumns.filter(({ table }) => !elsewhere.has(table))
    const keys = {
      provider_name: 'Keys',
      slug: 'keys',
      api_hosts: ['api.keys.example'],
      auth_methods: [{ kind: 'basic' }],
    }
    assert.equal((await call('POST', '/v4/providers', { token: test.adminToken, body: keys })).status, 201)
    const credential = { username: 'ada', password: 'a-password-of-sixteen-or-more' }
    const entered = await call('POST', '/v4/connections', { token, body: { provider_slug: 'keys', credential } })
    assert.equal(entered.status, 201)
    const before = await Promise.all(ours.map((column) => keysIn(database, column)))
    assert.ok(
      before.every((keys) => keys.length === 1),
      'each column holds something',
    )

    const source = masterKeySource(config)
    const needs = { database, vault, source, sealedColumns, newMasterKey, clock: clock.now }
    const { resealed } = await rotateKeys({ ...needs, onProgress: () => undefined })
    assert.ok(resealed >= ours.length)
    const after = await Promise.all(ours.map((column) => keysIn(database, column)))
    assert.equal(new Set(after.flat()).size, 1)
    assert.notDeepEqual(after, before)

    clock.advance(body.interval)
    const poll = { token, body: { device_flow_id: body.device_flow_id } }
    assert.equal((await call('POST', '/v4/oauth/device/poll', poll)).body.status, 'connected')
    const waiting = landed.cookie?.split(';')[0] ?? ''
    const resumed = await follow(`${config.baseUrl.origin}/v4/oauth/resume`, `${user.cookie}; ${waiting}`)
    assert.ok(resumed.params['connection_id'])
    clock.advance(3600)
    assert.equal((await call('POST', `/v4/connections/${id}/check`, { token })).status, 200)
    assert.equal(test.refreshes(), 1)
  })
})
