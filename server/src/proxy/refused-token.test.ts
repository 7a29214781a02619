import assert from 'node:assert/strict'
import { test } from 'node:test'
import { soon, startCalling, startOAuthCalling } from '../../testkit/calling.ts'
import type { Answer, Calling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { freshTokenOf } from '../../testkit/fresh-token.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'

/** Responds to the first calls with 401, then returns the token. */
function refusing(times: number): Answer {
  let left = times
  return (response, { headers }) => {
    response.writeHead(left-- > 0 ? 401 : 200, { 'content-type': 'text/plain' }).end(headers.authorization)
  }
}

function tokens({ upstream }: Calling): (string | undefined)[] {
  return upstream.received.map(({ headers }) => headers.authorization)
}

async function callsCounted({ service }: Calling): Promise<number> {
  return (await service.database.queries.selectFrom('grant_usage').select('calls').executeTakeFirstOrThrow()).calls
}

onBothDatabases('a token that the upstream refuses', (engine) => {
  for (const stream of [false, true]) {
    test(`is refreshed, and the call retried once (${stream ? 'streamed' : 'buffered'})`, async (t) => {
      const calling = await startOAuthCalling(t, engine, { answer: refusing(1) })
      const members = { method: 'POST', body: 'again' }
      const text = stream
        ? (await (await calling.stream(members)).answer.toArray()).join('')
        : (await calling.proxy(members)).body.body
      assert.equal(text, 'Bearer [REDACTED]')
      const [first, second] = tokens(calling)
      assert.notEqual(first, second)
      assert.deepEqual(
        calling.upstream.received.map(({ method, body }) => [method, body]),
        [
          ['POST', 'again'],
          ['POST', 'again'],
        ],
      )
      assert.equal(calling.service.refreshes(), 1)
      const records = await calling.records()
      assert.deepEqual(
        records.map(({ event, detail }) => [event, detail.why, detail.status]),
        [
          ['proxy.attempt', undefined, undefined],
          ['proxy.hop', 'token_renewed', undefined],
          ['proxy.outcome', undefined, 200],
        ],
      )
      assert.equal(new Set(records.map(({ audit_id }) => audit_id)).size, 1)
      assert.equal(await callsCounted(calling), 1)
    })
  }

  test('is refreshed during another stream, which shows neither token', async (t) => {
    let open: Parameters<Answer>[0] | undefined
    const once = refusing(1)
    const calling = await startOAuthCalling(t, engine, {
      answer: (response, request) => {
        if (open) {
          once(response, request)
          return
        }
        open = response
        response.writeHead(200, { 'content-type': 'text/plain' }).write('begun ')
      },
    })
    const { answer } = await calling.stream()
    await calling.proxy()
    const sent = tokens(calling)
    assert.equal(new Set(sent).size, 2)
    open?.end(`${sent.join(' ')} ended`)
    assert.equal((await answer.toArray()).join(''), `begun ${'Bearer [REDACTED] '.repeat(sent.length)}ended`)
  })

  test('is not used by the next call, and both are redacted', async (t) => {
    let sent: (string | undefined)[] = []
    const once = refusing(1)
    const calling = await startOAuthCalling(t, engine, {
      answer: (response, request) => {
        if (sent.length === 0) once(response, request)
        else response.end(sent.join(' '))
      },
    })
    await calling.proxy()
    sent = tokens(calling)
    const { body } = await calling.proxy()
    assert.equal(body.body, 'Bearer [REDACTED] Bearer [REDACTED]')
    assert.equal(tokens(calling)[2], sent[1])
  })

  test('is not taken from the cache if another instance has refreshed it', async (t) => {
    const calling = await startOAuthCalling(t, engine)
    await calling.proxy()
    const { accessToken } = await freshTokenOf(calling.service)(calling.connectionId, 1)
    await calling.proxy()
    const [first, second] = tokens(calling)
    assert.notEqual(first, second)
    assert.equal(second, `Bearer ${accessToken.reveal()}`)
  })

  test('returns the 401 if the refreshed one is refused too, without another refresh', async (t) => {
    const calling = await startOAuthCalling(t, engine, { answer: refusing(Infinity) })
    const { status, body } = await calling.proxy()
    assert.deepEqual([status, body.status, body.body], [200, 401, 'Bearer [REDACTED]'])
    assert.equal(calling.upstream.received.length, 2)
    await calling.proxy()
    assert.deepEqual([calling.upstream.received.length, calling.service.refreshes()], [3, 1])
  })

  test('returns the 401 if it cannot be refreshed or the provider is down', async (t) => {
    const stored = await startCalling(t, engine, { answer: refusing(Infinity) })
    assert.equal((await stored.proxy()).body.status, 401)
    assert.equal(stored.upstream.received.length, 1)
    const calling = await startOAuthCalling(t, engine, { answer: refusing(Infinity) })
    calling.service.oauth.fault.answer(oauthPaths.token, { status: 503 })
    assert.equal((await calling.proxy()).body.status, 401)
    assert.equal(calling.upstream.received.length, 1)
  })

  for (const stream of [false, true]) {
    test(`needs reauthorization if the refresh token is invalid (${stream ? 'streamed' : 'buffered'})`, async (t) => {
      const calling = await startOAuthCalling(t, engine, {
        // The rest of the answer never comes: whoever does not give it up keeps its socket.
        answer: (response) => {
          response.writeHead(401, { 'content-length': stream ? 10 : 0 }).flushHeaders()
        },
      })
      await calling.service.oauth.endGrants('ada')
      const { status } = stream ? await calling.stream() : await calling.proxy()
      assert.equal(status, 409)
      assert.equal((await calling.proxy()).body.error.code, 'connection_needs_reauth')
      assert.equal(calling.upstream.received.length, 1)
      if (stream) await calling.upstream.allClosed()
      const outcomes = (await calling.records()).filter(({ event }) => event === 'proxy.outcome')
      assert.deepEqual(
        outcomes.map(({ detail }) => [detail.outcome, detail.code]),
        [['failed', 'connection_needs_reauth']],
      )
    })
  }

  test('is not retried for a grant that was revoked during the refresh', async (t) => {
    const calling = await startOAuthCalling(t, engine, { answer: refusing(1) })
    const { service, grantId } = calling
    const hold = service.oauth.fault.hold(oauthPaths.token)
    const reply = calling.proxy()
    await hold.arrived
    await service.call('POST', `/v4/grants/${grantId}/revoke`, { token: service.user.token })
    hold.release()
    const { status, body } = await reply
    assert.deepEqual([status, body.error.code], [403, 'grant_revoked'])
    assert.equal(calling.upstream.received.length, 1)
  })

  test('is refreshed before expiry too, and its grant checked again afterwards', async (t) => {
    const calling = await startOAuthCalling(t, engine)
    const { service, grantId } = calling
    await calling.proxy()
    service.clock.advance(3600)
    const hold = service.oauth.fault.hold(oauthPaths.token)
    const reply = calling.proxy()
    await hold.arrived
    await service.call('POST', `/v4/grants/${grantId}/revoke`, { token: service.user.token })
    hold.release()
    assert.equal((await reply).body.error.code, 'grant_revoked')
    assert.equal(calling.upstream.received.length, 1)
  })
})

onBothDatabases('a slow token refresh', (engine) => {
  for (const stream of [false, true]) {
    test(`is waited for up to the call's timeout (${stream ? 'streamed' : 'buffered'}), and others still get it`, async (t) => {
      const calling = await startOAuthCalling(t, engine)
      const { service } = calling
      await calling.proxy()
      service.clock.advance(3600)
      const hold = service.oauth.fault.hold(oauthPaths.token)
      const patient = calling.proxy()
      await hold.arrived
      const { status } = await soon(calling.stream({ timeout_ms: 200, stream }))
      assert.equal(status, 502)
      hold.release()
      assert.equal((await patient).body.status, 200)
      assert.deepEqual([calling.upstream.received.length, service.refreshes()], [2, 1])
      const codes = (await calling.records()).map(({ detail }) => detail.code).filter(Boolean)
      assert.deepEqual(codes, ['provider_unavailable'])
    })
  }

  test("leaves the upstream's 401 as the response after a timeout", async (t) => {
    const calling = await startOAuthCalling(t, engine, { answer: refusing(Infinity) })
    const hold = calling.service.oauth.fault.hold(oauthPaths.token)
    const { body } = await soon(calling.proxy({ timeout_ms: 1500 }))
    assert.deepEqual([body.status, body.body], [401, 'Bearer [REDACTED]'])
    hold.release()
  })

  test('is not waited for by a stream whose grant has ended', async (t) => {
    const calling = await startOAuthCalling(t, engine, { answer: refusing(Infinity) })
    const { service, grantId } = calling
    const hold = service.oauth.fault.hold(oauthPaths.token)
    const streaming = calling.stream()
    await hold.arrived
    await service.call('POST', `/v4/grants/${grantId}/revoke`, { token: service.user.token })
    await service.app.checkCallsInFlight()
    assert.equal((await soon(streaming)).status, 403)
    hold.release()
  })
})
