/** No credential of a provider is in the database file, the log or our responses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slug, startConnectionTest } from '../../testkit/connections.ts'
import type { ConnectionTest } from '../../testkit/connections.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'
import { stored } from '../../testkit/stored.ts'

/** In the clear, and as the usual encodings write it; base64 at each of its three alignments. */
function formsOf(secret: string): string[] {
  const base64 = (['base64', 'base64url'] as const).flatMap((encoding) =>
    [0, 1, 2].map((shift) =>
      Buffer.from('\0'.repeat(shift) + secret)
        .toString(encoding)
        .slice(4, -4),
    ),
  )
  const hex = Buffer.from(secret).toString('hex')
  return [secret, encodeURIComponent(secret), hex, hex.toUpperCase(), ...base64]
}

function assertHidden(secrets: Iterable<string>, where: string, found: Buffer): void {
  for (const secret of secrets) {
    assert.ok(secret.length >= 16, 'a shorter one could be found by chance')
    for (const form of formsOf(secret)) {
      assert.ok(!found.includes(form), `${secret.slice(0, 6)}… is in ${where}, as ${form.slice(0, 6)}…`)
    }
  }
}

async function connectByDevice({ call, oauth, user, clock }: ConnectionTest, account: string): Promise<void> {
  const { token } = user
  const { body } = await call('POST', '/v4/oauth/device/start', { token, body: { provider_slug: slug } })
  const poll = async () => {
    clock.advance(body.interval)
    const polled = { token, body: { device_flow_id: body.device_flow_id } }
    return (await call('POST', '/v4/oauth/device/poll', polled)).body.status
  }
  assert.equal(await poll(), 'pending')
  await oauth.approveDevice(body.user_code, { account })
  assert.equal(await poll(), 'connected')
}

onBothDatabases('secrets of a provider', (engine) => {
  test('no token, code, verifier or client secret in the database file, the log, an error or a response', async (t) => {
    const test = await startConnectionTest(t, engine, { settings: { SALLYPORT_LOG_LEVEL: 'debug' } })
    const { call, oauth, user, clock, log, start, follow, connect } = test
    const { token } = user
    const answers = test.keepAnswers()
    const states: string[] = []
    const begin = async () => {
      const page = await start(user)
      states.push(new URL(page).searchParams.get('state') ?? '')
      return page
    }

    const id = await connect()
    await connect()
    await connectByDevice(test, 'grace')
    assert.equal((await follow(await oauth.deny(await begin()), user.cookie)).params['error'], 'access_denied')
    const waiting = await follow(await oauth.approve(await begin(), { account: 'waiting' }))
    assert.equal(waiting.params['connect'], 'waiting')
    const abandoned = await call('POST', '/v4/oauth/device/start', { token, body: { provider_slug: slug } })
    assert.equal(abandoned.status, 201)
    for (const instead of [
      { status: 400, headers: { 'content-type': 'application/json' }, body: '{"error":"invalid_grant"}' },
      {
        ...{ status: 400, headers: { 'content-type': 'application/json' } },
        body: JSON.stringify({ error: oauth.client.clientSecret }),
      },
      { status: 200, headers: { 'content-type': 'text/html' }, body: '<p>' },
      'lost',
    ] as const) {
      oauth.fault.answer(oauthPaths.token, instead, 1)
      assert.ok((await follow(await oauth.approve(await begin()), user.cookie)).params['error'])
    }
    clock.advance(3600)
    const check = () => call('POST', `/v4/connections/${id}/check`, { token })
    assert.equal((await check()).status, 200)
    assert.equal(test.refreshes(), 1)
    oauth.fault.answer(oauthPaths.token, { status: 500 }, 1)
    clock.advance(3600)
    assert.equal((await check()).status, 502)
    oauth.fault.answer(oauthPaths.revocation, 'cut')
    const removed = await call('DELETE', `/v4/connections/${id}`, { token })
    assert.equal(removed.body.remote_revocation, 'pending')
    await call('GET', '/v4/connections', { token })

    const secrets = [...oauth.secrets]
    assert.ok(secrets.length >= 25, `${secrets.length} secrets went by`)
    assert.ok(secrets.includes(oauth.client.clientSecret))
    assert.ok(secrets.filter((one) => one.startsWith('eyJ')).length >= 3, 'id tokens among them')
    const file = await stored(test)
    assertHidden([...secrets, ...states], 'the database', file)
    assertHidden([...secrets, ...states], 'the log', Buffer.from(log.join('')))
    assertHidden(secrets, 'a response', Buffer.from(answers.join('\n')))
    assert.ok(answers.length > 30 && log.length > 15)
    // Check the search itself: values that are not secret are found.
    assert.ok(file.includes(id) && file.includes('ada@example.com'))
    assert.ok(answers.join('').includes(id) && log.join('').includes('/v4/oauth/callback/:slug'))
    // Nor the cookie of a waiting callback.
    const hold = /svc_connect=([^;]+)/.exec(waiting.cookie ?? '')?.[1] ?? ''
    assertHidden([hold], 'the database or the log', Buffer.concat([file, Buffer.from(log.join(''))]))
    assert.ok(!file.includes(abandoned.body.user_code), 'a user code is not kept')
  })
})
