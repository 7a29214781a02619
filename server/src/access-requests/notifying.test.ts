import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { startApnsServer } from '../../testkit/apns-server.ts'
import { startAccessTest } from '../../testkit/access-requests.ts'
import { fixedClock } from '../../testkit/clock.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { pairDevice } from '../../testkit/device.ts'
import { reaching } from '../../testkit/providers.ts'
import type { Engine } from '../platform/database/database.ts'

const settings = {
  SALLYPORT_REGISTRATIONS_PER_MINUTE: '1000',
  SALLYPORT_REGISTRATIONS_PER_DAY: '1000',
  SALLYPORT_ACCESS_REQUESTS_PER_HOUR: '1000',
  SALLYPORT_ACCESS_REQUESTS_PENDING: '1000',
}

/** A user with a phone, and the pushes that APNs received for it. */
async function startWithPhone(t: TestContext, engine: Engine) {
  const clock = fixedClock()
  const apns = await startApnsServer(t, clock.now)
  const test = await startAccessTest(t, engine, { ...settings, ...apns.settings, ...reaching(apns) }, clock)
  const phone = await pairDevice(test, test.user)
  const stored = await test.call('POST', `/v4/devices/${phone.deviceId}/push-token`, {
    token: phone.token,
    body: { push_token: 'ab'.repeat(32) },
  })
  assert.equal(stored.status, 200, stored.text)
  return {
    ...test,
    /** All pushes so far. */
    pushes: async () => {
      await test.app.catchUp()
      return apns.received.map(({ payload }) => payload)
    },
    apns,
    ring: (token?: string) => test.asked({ user_id: test.user.userId }, token),
  }
}

type Quieted = Awaited<ReturnType<typeof startWithPhone>>

onBothDatabases('notifying', (engine) => {
  test('a request for a user is pushed to their devices, with the agent marked unverified', async (t) => {
    const { asked, pushes, registerAgent, config, user } = await startWithPhone(t, engine)
    const long = await registerAgent(`${'Very long name '.repeat(5)}🦊`)
    const wish = { user_id: user.userId, reason: 'secret-reason', callback_url: 'https://a.example/x' }
    const id = await asked(wish, long.token)
    const [payload, ...others] = await pushes()
    assert.deepEqual(others, [])
    assert.deepEqual(payload?.aps.alert, {
      title: 'An agent is requesting access',
      body: '“Very long name Very long name Very long…” (unverified) wants to use Acme.',
    })
    assert.equal(payload['access_request_id'], id)
    assert.equal(payload['url'], `${config.baseUrl.origin}/approve-proxy/${id}?user=${user.userId}`)
    assert.doesNotMatch(JSON.stringify(payload), /secret-reason|a\.example/)
  })

  test("an agent's name cannot close its own quotation marks", async (t) => {
    const { ring, pushes, registerAgent } = await startWithPhone(t, engine)
    const impostor = await registerAgent('Bank” (verified). Tap „Yes‟ "now" «x». “')
    await ring(impostor.token)
    const [payload] = await pushes()
    const alert = payload?.aps.alert as { body: string } | undefined
    assert.equal(alert?.body, '“Bank’ (verified). Tap ’Yes’ ’now’ ’x’. ’” (unverified) wants to use Acme.')
  })

  test('the e-mail address in a request is not sent to the push service', async (t) => {
    const { asked, pushes, config, user } = await startWithPhone(t, engine)
    const id = await asked({ user_id: 'ada@example.com' })
    const [payload] = await pushes()
    assert.equal(payload?.['url'], `${config.baseUrl.origin}/approve-proxy/${id}?user=${user.userId}`)
    assert.doesNotMatch(JSON.stringify(payload), /ada/)
  })

  test('an agent can be unblocked after its requests were deleted', async (t) => {
    const { ring, deny, clock, call, user, agent, app } = await startWithPhone(t, engine)
    await deny(await ring(), { block: true })
    clock.advance(40 * 86_400)
    await app.sweep()
    const path = (verb: string) => `/v4/muted-agents/${agent.agentId}/${verb}`
    assert.equal((await call('POST', path('block'), { token: user.token })).status, 200)
    assert.equal((await call('POST', path('unmute'), { token: user.token })).status, 200)
    assert.deepEqual((await call('GET', '/v4/muted-agents', { token: user.token })).body.muted_agents, [])
    assert.equal((await call('POST', path('unmute'), { token: user.token })).body.error.code, 'not_found')
  })

  test('a request without a user, or for one without a device, sends no push', async (t) => {
    const { asked, pushes, logIn } = await startWithPhone(t, engine)
    const bob = await logIn({ email: 'bob@example.com' })
    await asked()
    await asked({ user_id: bob.userId })
    await asked({ user_id: 'nobody@example.com' })
    assert.deepEqual(await pushes(), [])
  })

  test('unknown agents push once an hour each; all together once in ten minutes and three times an hour', async (t) => {
    const { ring, pushes, registerAgent, clock } = await startWithPhone(t, engine)
    const strangers = await Promise.all(Array.from({ length: 5 }, (_, index) => registerAgent(`agent ${index}`)))
    const counts: number[] = []
    for (const { token } of strangers) {
      // It asks repeatedly, which does not use up the next agent's pushes.
      for (let again = 0; again < 3; again++) await ring(token)
      counts.push((await pushes()).length)
      clock.advance(600)
    }
    assert.deepEqual(counts, [1, 2, 3, 3, 3])
    clock.advance(600)
    await ring(strangers[3]?.token)
    assert.equal((await pushes()).length, 4, 'one that could not ring has not used up its own turn')
  })

  test('requests made while a user had no device do not count', async (t) => {
    const test = await startWithPhone(t, engine)
    const { call, asked, logIn, pushes, registerAgent, apns } = test
    const bob = await logIn({ email: 'bob@example.com' })
    const strangers = await Promise.all(Array.from({ length: 4 }, () => registerAgent()))
    for (const { token } of strangers) await asked({ user_id: bob.userId }, token)
    const phone = await pairDevice(test, bob)
    await asked({ user_id: bob.userId }, strangers[0]?.token)
    await call('POST', `/v4/devices/${phone.deviceId}/push-token`, {
      token: phone.token,
      body: { push_token: 'cd'.repeat(32) },
    })
    await asked({ user_id: bob.userId }, strangers[1]?.token)
    assert.equal((await pushes()).length, 1)
    assert.equal(apns.received.length, 1)
  })

  test('100 new agents cannot use up the pushes of an agent that was approved', async (t) => {
    const test = await startWithPhone(t, engine)
    const { ring, approve, pushes, registerAgent, agent, clock, pending } = test
    assert.equal((await approve(await ring())).status, 201)
    assert.equal((await pushes()).length, 1, 'the first one, from an agent that was a stranger then')
    clock.advance(3600)
    const strangers = await Promise.all(Array.from({ length: 100 }, (_, index) => registerAgent(`agent ${index}`)))
    await Promise.all(strangers.map(({ token }) => ring(token)))
    assert.equal((await pushes()).length, 2)
    assert.equal((await pending()).length, 50, 'the others wait in the console, a page of which is shown')
    for (let count = 0; count < 5; count++) await ring(agent.token)
    assert.equal((await pushes()).length, 4, 'three in ten minutes in all')
    clock.advance(3600)
    await Promise.all(strangers.map(({ token }) => ring(token)))
    assert.equal((await pushes()).length, 5)
  })

  test('a phone gets at most three pushes in any ten minutes', async (t) => {
    const { ring, approve, pushes, clock } = await startWithPhone(t, engine)
    await approve(await ring())
    clock.advance(3600)
    let before = (await pushes()).length
    const rung: number[] = []
    for (let minute = 0; minute < 30; minute++) {
      await ring()
      const now = (await pushes()).length
      rung.push(now - before)
      before = now
      clock.advance(60)
    }
    const inTen = rung.slice(9).map((_, index) => rung.slice(index, index + 10).reduce((sum, one) => sum + one))
    assert.deepEqual([Math.max(...inTen), Math.min(...inTen)], [3, 3], rung.join(' '))
  })

  test('a denial mutes that agent for that user for a day', async (t) => {
    const test = await startWithPhone(t, engine)
    const { ring, approve, deny, pushes, registerAgent, agent, clock, call, user } = test
    await approve(await ring())
    clock.advance(3600)
    await deny(await ring())
    const before = (await pushes()).length
    clock.advance(3600)
    await ring()
    assert.equal((await pushes()).length, before)
    const { body } = await call('GET', '/v4/muted-agents', { token: user.token })
    assert.deepEqual(body.muted_agents, [
      {
        agent_id: agent.agentId,
        name: 'Mail helper',
        muted_at: '2026-11-15T13:00:00.000Z',
        muted_until: '2026-11-16T13:00:00.000Z',
        blocked: false,
      },
    ])
    const other = await registerAgent()
    await ring(other.token)
    assert.equal((await pushes()).length, before + 1)
    clock.advance(86_400)
    await ring()
    assert.equal((await pushes()).length, before + 2)
    assert.deepEqual((await call('GET', '/v4/muted-agents', { token: user.token })).body.muted_agents, [])
  })

  for (const [words, quiets] of [
    ['a denial', (test: Quieted, id: string) => test.deny(id)],
    [
      'a block',
      ({ call, agent, user }: Quieted) =>
        call('POST', `/v4/muted-agents/${agent.agentId}/block`, { token: user.token }),
    ],
  ] as const) {
    test(`${words} also stops retries of the agent's earlier pushes`, async (t) => {
      const test = await startWithPhone(t, engine)
      const { ring, approve, pushes, apns, clock } = test
      await approve(await ring())
      clock.advance(3600)
      const before = (await pushes()).length
      const away = { status: 503, reason: 'ServiceUnavailable' }
      apns.answers.push(away, away)
      const first = await ring()
      await ring()
      assert.equal((await pushes()).length, before + 2, 'both were tried')
      assert.equal((await quiets(test, first)).status, 200)
      clock.advance(3600)
      assert.equal((await pushes()).length, before + 2)
    })
  }

  test('a blocked agent sends no push and is in no list until it is unblocked', async (t) => {
    const test = await startWithPhone(t, engine)
    const { ring, approve, deny, pushes, agent, clock, call, user, pending, read } = test
    await approve(await ring())
    clock.advance(3600)
    await deny(await ring(), { block: true })
    const before = (await pushes()).length
    clock.advance(40 * 86_400)
    const asked = await ring()
    await deny(asked, {})
    await ring()
    assert.deepEqual([(await pushes()).length, await pending()], [before, []], 'also after a plain denial')
    assert.equal((await read(asked)).body.status, 'denied', 'the agent is told nothing of it')
    const path = (verb: string) => `/v4/muted-agents/${agent.agentId}/${verb}`
    assert.equal((await call('POST', path('unmute'), { token: user.token })).status, 200)
    clock.advance(3600)
    const heard = await ring()
    assert.equal((await pushes()).length, before + 1)
    assert.ok((await pending()).includes(heard))
    const blocked = await call('POST', path('block'), { token: user.token })
    assert.deepEqual([blocked.status, blocked.body.blocked, blocked.body.muted_until], [200, true, null])
    clock.advance(60)
    assert.deepEqual((await call('POST', path('block'), { token: user.token })).body, blocked.body)
    assert.deepEqual(await pending(), [])
  })

  test('a user can block only agents that sent them a request', async (t) => {
    const { ring, call, logIn, agent } = await startWithPhone(t, engine)
    await ring()
    const bob = await logIn({ email: 'bob@example.com' })
    for (const [id, token] of [
      [agent.agentId, bob.token],
      ['agt_none', bob.token],
    ] as const) {
      for (const verb of ['block', 'unmute']) {
        const { body } = await call('POST', `/v4/muted-agents/${id}/${verb}`, { token })
        assert.equal(body.error.code, 'not_found')
      }
    }
  })
})
