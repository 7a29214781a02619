import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { startConnectionTest } from '../../testkit/connections.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { insertGrant } from '../../testkit/grants.ts'
import { startInstances } from '../../testkit/instances.ts'
import { proxyTo, textResponse } from '../../testkit/proxy.ts'
import type { TestProxy } from '../../testkit/proxy.ts'
import type { TestService } from '../../testkit/service.ts'
import { ServiceError } from '../platform/errors.ts'
import type { UpstreamRequest } from '../proxy/upstream.ts'

/** An upstream that answers once it is told to, or ends as it is told to; `reached` resolves when a call is there. */
function slowUpstream(hears: 'signal' | 'nothing' = 'signal') {
  const reached = Promise.withResolvers<undefined>()
  const answered = Promise.withResolvers<undefined>()
  const upstream = async ({ signal }: UpstreamRequest) => {
    if (hears === 'signal') {
      signal.addEventListener('abort', () => {
        answered.reject(new Error('socket closed'))
      })
    }
    reached.resolve(undefined)
    await answered.promise
    return textResponse('late')
  }
  return { upstream, reached: reached.promise, answer: answered.resolve }
}

/** An answer that begins and then hangs. */
function hangingBody() {
  const reached = Promise.withResolvers<undefined>()
  const upstream = ({ signal }: UpstreamRequest) => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        controller.enqueue(Buffer.from('half of it'))
        signal.addEventListener('abort', () => {
          controller.error(new Error('socket closed'))
        })
      },
      pull: () => {
        reached.resolve(undefined)
      },
    })
    return Promise.resolve({ status: 200, headers: [], body })
  }
  return { upstream, reached: reached.promise, answer: () => undefined }
}

async function outcomeOf(service: TestService, { grantId }: { grantId: string }): Promise<unknown> {
  const records = await recorded(service, 'proxy.')
  return records.find((one) => one.grant_id === grantId && one.event === 'proxy.outcome')?.detail
}

/** What the call ends with, once the check has been made. */
async function endedBy(call: Promise<unknown>, { callsInFlight, received }: TestProxy): Promise<ServiceError> {
  const ended = call.catch((reason: unknown) => reason)
  await callsInFlight.check()
  assert.equal(received[0]?.signal.aborted, true, 'the upstream is told')
  const error = await ended
  assert.ok(error instanceof ServiceError, String(error))
  return error
}

onBothDatabases('a call in flight', (engine) => {
  test('ends at the next check, on whichever instance its grant was ended', async (t) => {
    const [here, there] = await startInstances(t, engine)
    const endings: [string, (proxy: TestProxy) => unknown][] = [
      ['grant_revoked', ({ grantId, token }) => there.call('POST', `/v4/grants/${grantId}/revoke`, { token })],
      ['grant_revoked', ({ token }) => there.call('POST', '/v4/sandbox/start', { token })],
      [
        'unauthenticated',
        ({ agentId }) => there.call('POST', `/v4/agents/${agentId}/disable`, { token: there.adminToken }),
      ],
      ['unauthenticated', ({ token }) => there.call('POST', '/v4/agents/rotate-token', { token })],
      [
        'grant_expired',
        () => {
          here.clock.advance(3600)
        },
      ],
    ]
    const upstreams = [() => slowUpstream('signal'), () => slowUpstream('nothing'), hangingBody]
    for (const [code, end] of endings) {
      // So many agents may register in a minute.
      here.clock.advance(60)
      for (const make of upstreams) {
        const { upstream, reached } = make()
        const proxy = await proxyTo(here, { upstream })
        const call = proxy.call()
        await reached
        await proxy.callsInFlight.check()
        assert.equal(proxy.received[0]?.signal.aborted, false, 'while its grant lives it goes on')
        await end(proxy)
        assert.equal((await endedBy(call, proxy)).code, code)
        assert.deepEqual(await outcomeOf(here, proxy), {
          outcome: 'failed',
          code,
          ms: code === 'grant_expired' ? 3_600_000 : 0,
        })
        assert.deepEqual(proxy.outcomes, ['failed'])
      }
    }
  })

  test('ends when the connection is disconnected or the user disabled', async (t) => {
    const service = await startConnectionTest(t, engine)
    const { token } = service.user
    const endings = [
      (connectionId: string) => service.call('DELETE', `/v4/connections/${connectionId}`, { token }),
      () => service.call('POST', `/v4/users/${service.user.userId}/disable`, { token: service.adminToken }),
    ]
    for (const end of endings) {
      const connectionId = await service.connect()
      const { upstream, reached } = slowUpstream()
      const proxy = await proxyTo(service, { upstream })
      const terms = { userId: service.user.userId, connectionId, allowedHosts: [service.config.baseUrl.host] }
      const grant = await insertGrant(service, { agentId: proxy.agentId, ...terms })
      const call = proxy.call({ grantId: grant.grantId })
      await reached
      await end(connectionId)
      assert.equal((await endedBy(call, proxy)).code, 'grant_revoked')
      assert.deepEqual(await outcomeOf(service, grant), { outcome: 'failed', code: 'grant_revoked', ms: 0 })
    }
  })

  test('ends when the provider is disabled', async (t) => {
    const service = await startConnectionTest(t, engine)
    const { providerId, adminToken, user } = service
    const { upstream, reached } = slowUpstream()
    const proxy = await proxyTo(service, { upstream })
    const on = { userId: user.userId, connectionId: await service.connect() }
    const terms = { agentId: proxy.agentId, ...on, allowedHosts: [service.config.baseUrl.host] }
    const grant = await insertGrant(service, terms)
    const call = proxy.call({ grantId: grant.grantId })
    await reached
    await service.call('POST', `/v4/providers/${providerId}/disable`, { token: adminToken })
    assert.equal((await endedBy(call, proxy)).code, 'conflict')
    assert.deepEqual(await outcomeOf(service, grant), { outcome: 'failed', code: 'conflict', ms: 0 })
  })

  test('continues if another grant ended, or if it was the last call of its own', async (t) => {
    const [service] = await startInstances(t, engine)
    const mine = slowUpstream()
    const proxy = await proxyTo(service, { upstream: mine.upstream })
    const others = slowUpstream()
    const other = await proxyTo(service, { upstream: others.upstream }, { callsInFlight: proxy.callsInFlight })
    const { queries } = service.database
    await queries.updateTable('grants').set({ max_calls: 1 }).where('grant_id', '=', proxy.grantId).execute()
    const [call, ended] = [proxy.call(), other.call()]
    await Promise.all([mine.reached, others.reached])
    await assert.rejects(proxy.call(), { code: 'grant_exhausted' })
    await service.call('POST', `/v4/agents/${other.agentId}/disable`, { token: service.adminToken })
    assert.equal((await endedBy(ended, other)).code, 'unauthenticated')
    mine.answer(undefined)
    assert.equal((await call).body, 'late')
  })

  test('is no longer checked once it has ended', async (t) => {
    const [service] = await startInstances(t, engine)
    const proxy = await proxyTo(service)
    const broken = await proxyTo(
      service,
      { upstream: () => Promise.reject(new Error('refused')) },
      { callsInFlight: proxy.callsInFlight },
    )
    await Promise.all([proxy.call(), proxy.call(), assert.rejects(broken.call())])
    await service.database.close()
    await proxy.callsInFlight.check()
    proxy.callsInFlight.begin({ grantId: proxy.grantId, termsVersion: 1 }, { tokenHash: Buffer.alloc(32) })
    await assert.rejects(proxy.callsInFlight.check(), 'with one under way the database is asked')
  })
})
