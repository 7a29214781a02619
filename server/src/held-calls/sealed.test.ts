/** Calls that wait survive a rotation of the keys. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { onBothDatabases, temporaryFolder } from '../../testkit/databases.ts'
import { startHeldCalls } from '../../testkit/held-calls.ts'
import { masterKeySource } from '../platform/operations/instance.ts'
import { newMasterKey } from '../platform/vault/master-keys.ts'
import { rotateKeys } from '../platform/vault/rotate.ts'
import { sealedColumns } from '../sealed-columns.ts'

onBothDatabases('a rotation of the keys', (engine) => {
  test('re-encrypts requests, what people see, responses and repeats', async (t) => {
    const keyFile = join(temporaryFolder(t), 'master-key')
    writeFileSync(keyFile, newMasterKey().text.reveal(), { mode: 0o600 })
    const settings = { SALLYPORT_MASTER_KEY: undefined, SALLYPORT_MASTER_KEY_FILE: keyFile }
    const test = await startHeldCalls(t, engine, { settings, terms: { mode: 'ask_all' } })
    const { config, database, vault, clock } = test.service
    const done = await test.held({ method: 'GET', body: undefined })
    await test.approve(done, { repeat_for_seconds: 3600 })
    const { response } = await test.ended(done)
    const waiting = await test.held()
    const needs = { database, vault, source: masterKeySource(config), sealedColumns, newMasterKey, clock: clock.now }
    const { resealed } = await rotateKeys({ ...needs, onProgress: () => undefined })
    assert.ok(resealed >= 5)
    assert.deepEqual((await test.read(done)).body.response, response)
    const { body } = await test.service.call('GET', '/v4/calls/repeats', { token: test.user.token })
    assert.equal(body.repeats[0].scope, 'the same method, URL and headers')
    assert.equal((await test.approve(waiting)).status, 200)
    assert.equal((await test.ended(waiting)).response.status, 200)
    assert.equal(test.upstream.received.at(-1)?.body, '{"text":"hello"}')
  })
})
