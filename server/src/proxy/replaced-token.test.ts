/** A call with an agent's replaced token is refused at every step to the upstream and back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { startCalling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { proxyTo, textResponse } from '../../testkit/proxy.ts'
import { startService } from '../../testkit/service.ts'

const key = { idempotencyKey: 'a' }

onBothDatabases('a call whose agent token was replaced meanwhile', (engine) => {
  test('is not attempted, and gets no stored response', async (t) => {
    const service = await startService(t, engine)
    const proxy = await proxyTo(service)
    await proxy.call()
    await proxy.call({}, key)
    const { status } = await service.call('POST', '/v4/agents/rotate-token', { token: proxy.token })
    assert.equal(status, 200)
    for (const caller of [{}, key, { idempotencyKey: 'b' }]) {
      await assert.rejects(proxy.call({}, caller), { code: 'unauthenticated' })
    }
    await assert.rejects(Promise.all([proxy.call(), proxy.call(), proxy.call()]), { code: 'unauthenticated' })
    assert.equal(proxy.received.length, 2)
    const attempts = await recorded(service, 'proxy.attempt')
    assert.equal(attempts.length, 2)
  })

  test('does not follow a redirect', async (t) => {
    const service = await startService(t, engine)
    const proxy = await proxyTo(service, {
      upstream: async () => {
        await service.call('POST', '/v4/agents/rotate-token', { token: proxy.token })
        const { pathname } = new URL('/v4/sandbox/echo', service.config.baseUrl)
        return { ...textResponse(''), status: 302, headers: [['location', pathname]] }
      },
    })
    await assert.rejects(proxy.call({ followRedirects: true }), { code: 'unauthenticated' })
    assert.equal(proxy.received.length, 1)
  })

  test('ends as a stream at the next check', async (t) => {
    const calling = await startCalling(t, engine, {
      answer: (response) => {
        response.write('and so on')
      },
    })
    const { service, agent } = calling
    const { answer } = await calling.stream()
    const ended = new Promise<string>((resolve) => {
      answer.resume().on('error', () => {
        resolve('cut')
      })
      answer.on('end', () => {
        resolve('whole')
      })
    })
    await service.app.checkCallsInFlight()
    assert.equal(answer.destroyed, false, 'while its token is good it goes on')
    await service.call('POST', '/v4/agents/rotate-token', { token: agent.token })
    await service.app.checkCallsInFlight()
    assert.equal(await ended, 'cut')
    const outcome = (await calling.records()).find(({ event }) => event === 'proxy.outcome')
    assert.equal((outcome?.detail as { code?: string } | undefined)?.code, 'unauthenticated')
  })
})
