/** A call that has begun is judged again after every wait, so a pause stops it even before calls in flight are checked. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { soon, startOAuthCalling } from '../../testkit/calling.ts'
import type { Calling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'

type Waiting = Awaited<ReturnType<typeof startOAuthCalling>>

const pause = ({ service }: Pick<Calling, 'service'>) =>
  service.call('PUT', '/v4/pause', { token: service.adminToken, body: {} })

/** What a call is about to do when the pause is there. */
const waits: Record<string, { members?: object; headers?: [status: number, location?: string]; isStale?: true }> = {
  'its token is refreshed': { isStale: true },
  'it is retried with a new token': { headers: [401] },
  'it follows a redirect': { headers: [302, '/elsewhere'], members: { follow_redirects: true } },
}

onBothDatabases('a call goes no further if all agents are paused while', (engine) => {
  for (const [name, { members, headers: [status, location] = [200], isStale }] of Object.entries(waits)) {
    test(name, async (t) => {
      const calling: Waiting = await startOAuthCalling(t, engine, {
        answer: (response) => {
          void pause(calling).then(() => response.writeHead(status, location ? { location } : {}).end())
        },
      })
      const { service, upstream } = calling
      if (isStale) service.clock.advance(86_400)
      const hold = isStale && service.oauth.fault.hold(oauthPaths.token)
      const reply = calling.proxy(members)
      if (hold) {
        await soon(hold.arrived)
        await pause(calling)
        hold.release()
      }
      const { status: refused, body } = await soon(reply)
      assert.deepEqual([refused, body.error.code], [403, 'paused'])
      assert.equal(upstream.received.length, isStale ? 0 : 1)
      const outcome = (await calling.records()).find(({ event }) => event === 'proxy.outcome')
      assert.equal(outcome?.detail.code, 'paused')
    })
  }

  test('its stored answer is asked for again', async (t) => {
    const calling = await startOAuthCalling(t, engine)
    const { service, upstream, agent, grantId } = calling
    const again = () =>
      service.call('POST', '/v4/proxy', {
        token: agent.token,
        headers: { 'idempotency-key': 'once' },
        body: { grant_id: grantId, method: 'POST', url: upstream.url },
      })
    assert.equal((await again()).status, 200)
    await pause(calling)
    assert.equal((await again()).body.error.code, 'paused')
  })
})
