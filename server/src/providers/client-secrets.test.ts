import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { acme, startProviderTest } from '../../testkit/providers.ts'
import { startService } from '../../testkit/service.ts'
import { stored } from '../../testkit/stored.ts'
import { masterKeySource } from '../platform/operations/instance.ts'
import { newMasterKey } from '../platform/vault/master-keys.ts'
import { rotateKeys } from '../platform/vault/rotate.ts'
import { openVault } from '../platform/vault/vault.ts'
import { sealedColumns } from '../sealed-columns.ts'
import { createProviderStore } from './provider-store.ts'

onBothDatabases('client secrets', (engine) => {
  test('no client secret in the database file, the log, an error or a response', async (t) => {
    const service = await startProviderTest(t, engine)
    const { oauth, create, propose, asAdmin, call } = service
    const given = ['first-secret-of-the-admin', 'other-secret-of-the-admin', 'wrong-place-for-a-secret']
    const [first = '', other = '', misplaced = ''] = given
    const replies = [
      await create({ ...acme, client_id: 'our-client', client_secret: first }),
      await create({ ...acme, client_id: 'our-client', client_secret: first }),
      await create({ ...acme, slug: 'another', client_secret: misplaced }),
      await create({ ...acme, slug: 'another', client_id: misplaced.repeat(50), client_secret: misplaced }),
      await create({ provider_name: 'Registered', issuer_url: oauth.issuer }),
      await propose({ provider_name: 'Proposed', issuer_url: oauth.issuer }),
    ]
    const id = replies[0]?.body.provider_id as string
    replies.push(
      await asAdmin('PATCH', `/v4/providers/${id}/credentials`, { client_id: 'our-client', client_secret: other }),
      await asAdmin('PATCH', `/v4/providers/${id}/credentials`, { client_secret: misplaced }),
      await asAdmin('PATCH', '/v4/providers/none/credentials', { client_id: 'x', client_secret: misplaced }),
      await asAdmin('GET', '/v4/providers?status=all'),
      await call('GET', '/v4/providers'),
      await asAdmin('POST', `/v4/providers/${id}/disable`),
      await asAdmin('DELETE', `/v4/providers/${id}`),
    )
    assert.deepEqual(
      replies.map(({ status }) => status),
      [201, 409, 400, 400, 201, 201, 200, 400, 404, 200, 200, 200, 200],
    )
    const registered = [...oauth.secrets].filter((secret) => secret !== oauth.client.clientSecret)
    assert.ok(registered.length >= 2, 'the provider gave out a secret for each registration')
    const disk = await stored(service)
    assert.ok(disk.includes('our-client'), 'what is plain is found')
    const answers = replies.map(({ text, headers }) => text + JSON.stringify(headers)).join('')
    for (const secret of [...given, ...registered]) {
      const forms = [secret, Buffer.from(secret).toString('base64').replace(/=+$/, ''), encodeURIComponent(secret)]
      for (const form of forms) {
        assert.ok(!disk.includes(form), 'on disk')
        assert.ok(!answers.includes(form), 'in an answer')
        assert.ok(!service.log.join('').includes(form), 'in the log')
      }
    }
  })

  test('a client secret is stored encrypted and decrypts to the one given', async (t) => {
    const { vault, database, create } = await startProviderTest(t, engine)
    const { body } = await create({ ...acme, client_id: 'our-client', client_secret: 'first-secret-of-the-admin' })
    const store = createProviderStore(vault)
    assert.equal((await store.clientSecret(database.queries, body.provider_id))?.reveal(), 'first-secret-of-the-admin')
  })

  test('a key rotation re-encrypts them', async (t) => {
    const { config, database, adminToken, call, clock } = await startService(t, engine)
    const body = { ...acme, client_id: 'our-client', client_secret: 'first-secret-of-the-admin' }
    const made = await call('POST', '/v4/providers', { token: adminToken, body })
    const id = made.body.provider_id as string
    const sealed = () =>
      database.queries
        .selectFrom('providers')
        .select(['client_secret', 'client_secret_key_id'])
        .where('provider_id', '=', id)
        .executeTakeFirstOrThrow()
    const before = await sealed()
    let keys = await masterKeySource(config).read()
    const source = { read: () => keys, write: (written: typeof keys) => void (keys = written) }
    const vault = await openVault({ database, readMasterKeys: source.read, clock: clock.now })
    await rotateKeys({
      database,
      vault,
      source,
      sealedColumns,
      newMasterKey,
      clock: clock.now,
      onProgress: () => undefined,
    })
    const after = await sealed()
    assert.notEqual(after.client_secret_key_id, before.client_secret_key_id)
    assert.notDeepEqual(after.client_secret, before.client_secret)
    const reopened = await openVault({ database, readMasterKeys: source.read, clock: clock.now })
    const secret = await createProviderStore(reopened).clientSecret(database.queries, id)
    assert.equal(secret?.reveal(), 'first-secret-of-the-admin')
  })
})
