import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { soon } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { adasKey, adasNewKey, gracesKey, startEntered } from '../../testkit/entered-credentials.ts'

onBothDatabases('replacing a credential', (engine) => {
  test('keeps the grants if the provider names the same account, and calls carry the new one', async (t) => {
    const { connect, replace, grantOn, upstream } = await startEntered(t, engine)
    const { body } = await connect({ api_key: adasKey })
    const { proxy } = await grantOn(body.connection_id)
    await proxy()
    const before = upstream.connections()
    const replaced = await replace(body.connection_id, { api_key: adasNewKey })
    assert.deepEqual([replaced.status, replaced.body.connection_id], [200, body.connection_id])
    assert.equal((await proxy()).body.status, 200)
    assert.equal(upstream.received.at(-1)?.headers['x-api-key'], adasNewKey)
    assert.equal(upstream.connections(), before + 2, 'the check and the call each opened a socket of their own')
  })

  test('the former secret is still redacted from answers', async (t) => {
    let shown = ''
    const { connect, replace, grantOn } = await startEntered(t, engine, {
      answer: (response) => {
        response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: 1, login: 'ada', shown }))
      },
    })
    const { body } = await connect({ api_key: adasKey })
    const { proxy } = await grantOn(body.connection_id)
    assert.equal((await replace(body.connection_id, { api_key: adasNewKey })).status, 200)
    shown = `${adasKey} ${adasNewKey}`
    const answer = await proxy()
    assert.equal(answer.body.body.shown, '[REDACTED] [REDACTED]')
  })

  test('of another account is refused, and nothing changes', async (t) => {
    const { connect, replace, grantOn, upstream } = await startEntered(t, engine)
    const { body } = await connect({ api_key: adasKey })
    const { proxy } = await grantOn(body.connection_id)
    const refused = await replace(body.connection_id, { api_key: gracesKey })
    assert.deepEqual(
      [refused.status, refused.body.error.code, refused.body.error.field],
      [409, 'conflict', 'credential'],
    )
    const invalid = await replace(body.connection_id, { api_key: 'sk_live_this-is-nobodys-key' })
    assert.deepEqual([invalid.status, invalid.body.error.code], [400, 'credential_refused'])
    assert.equal((await proxy()).body.status, 200)
    assert.equal(upstream.received.at(-1)?.headers['x-api-key'], adasKey)
  })

  test('ends the grants where no check can tell whose it is, and their calls in flight', async (t) => {
    const inject = [{ in: 'header', name: 'x-api-key', template: '{api_key}' }]
    const held = Promise.withResolvers<undefined>()
    const test = await startEntered(t, engine, {
      methods: () => [{ kind: 'api_key', inject }],
      answer: (response, { path }) => {
        if (path === '/slow') held.resolve(undefined)
        else response.end('{}')
      },
    })
    const { connect, replace, grantOn, upstream, app } = test
    const { body } = await connect({ api_key: adasKey })
    const { proxy, grantId } = await grantOn(body.connection_id)
    assert.equal((await proxy()).body.status, 200)
    const slow = proxy({ url: upstream.url.replace('/things', '/slow') })
    await soon(held.promise)
    assert.equal((await replace(body.connection_id, { api_key: adasNewKey })).status, 200)
    await app.checkCallsInFlight()
    assert.equal((await soon(slow)).body.error.code, 'grant_revoked')
    assert.equal((await proxy()).body.error.code, 'grant_revoked')
    const renewed = (await recorded(test, 'connection.renewed')).map(({ detail }) => detail['grants_ended'])
    const ended = (await recorded(test, 'grant.revoked')).map(({ grant_id }) => grant_id)
    assert.deepEqual([renewed, ended], [[1], [grantId]])
  })

  test('is refused for a connection that was made by OAuth or has ended', async (t) => {
    const { connect, replace, call, user } = await startEntered(t, engine)
    const { body } = await connect({ api_key: adasKey })
    await call('DELETE', `/v4/connections/${body.connection_id}`, { token: user.token })
    assert.equal((await replace(body.connection_id, { api_key: adasNewKey })).status, 404)
    assert.equal((await replace('con_nothing', { api_key: adasNewKey })).status, 404)
  })
})
