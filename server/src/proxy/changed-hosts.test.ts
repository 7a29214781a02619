/** The effect of a change of a provider's API hosts on existing grants. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { startAccessTest } from '../../testkit/access-requests.ts'
import { soon, startCalling, startOAuthCalling, startUpstream } from '../../testkit/calling.ts'
import type { Answer, Calling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import type { Engine } from '../platform/database/database.ts'

async function setHosts({ service, providerId }: Pick<Calling, 'service' | 'providerId'>, apiHosts: string[]) {
  const { call, adminToken } = service
  const options = { token: adminToken, body: { api_hosts: apiHosts } }
  const reply = await call('PATCH', `/v4/providers/${providerId}`, options)
  assert.equal(reply.status, 200, reply.text)
}

/** Two upstreams, both hosts of the provider and of the grant, of which the first answers as the test says. */
async function startWithTwo(t: TestContext, engine: Engine, answer?: Answer) {
  const other = await startUpstream(t)
  const first = await startUpstream(t, answer)
  const both = [first.host, other.host]
  const calling = await startCalling(t, engine, {
    settings: { SALLYPORT_EGRESS_ALLOW: both.join(',') },
    provider: { api_hosts: both },
    terms: { allowedHosts: both },
  })
  return { calling, first, other, both }
}

onBothDatabases('a change of a provider’s hosts', (engine) => {
  test('added hosts do not extend existing grants, not even one for all hosts', async (t) => {
    const access = await startAccessTest(t, engine)
    const id = await access.asked()
    const { body: approved } = await access.approve(id)
    const hosts = ['api.acme.example', 'mail.acme.example:8443']
    assert.deepEqual(approved.allowed_hosts ?? approved.grant?.allowed_hosts, hosts)
    await setHosts({ service: access, providerId: access.providerId }, [...hosts, 'new.acme.example'])
    const { grants } = (await access.call('GET', '/v4/grants', { token: access.agent.token })).body
    assert.deepEqual(grants[0].allowed_hosts, hosts)
    const call = { grant_id: grants[0].grant_id, method: 'GET', url: 'https://new.acme.example/' }
    const refused = await access.call('POST', '/v4/proxy', { token: access.agent.token, body: call })
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'host_not_allowed'])
    assert.deepEqual(refused.body.error.access_request.hosts, ['new.acme.example'], 'it may be asked for')
  })

  test('a removed host is refused with the next call, and works again once restored', async (t) => {
    const { calling, first, other, both } = await startWithTwo(t, engine)
    const to = async (url: string) => {
      const { status, body } = await calling.proxy({ url })
      return status === 200 ? 'sent' : body.error.code
    }
    assert.deepEqual([await to(first.url), await to(other.url)], ['sent', 'sent'])
    await setHosts(calling, [first.host])
    assert.deepEqual([await to(first.url), await to(other.url)], ['sent', 'host_not_allowed'])
    assert.deepEqual([await to(first.url), await to(other.url)], ['sent', 'host_not_allowed'])
    await setHosts(calling, both)
    assert.equal(await to(other.url), 'sent', 'a person approved this very host')
    assert.equal(other.received.length, 2)
  })

  test('a redirect is not followed to a host that was removed meanwhile', async (t) => {
    let onCall = async () => {}
    let location = ''
    const answer: Answer = (response) => {
      void onCall().then(() => response.writeHead(307, { location }).end())
    }
    const { calling, first, other } = await startWithTwo(t, engine, answer)
    location = other.url
    onCall = () => setHosts(calling, [first.host])
    const { status, body } = await calling.proxy({ url: first.url, follow_redirects: true })
    assert.deepEqual([status, body.status], [200, 307])
    assert.deepEqual(other.received, [])
    assert.deepEqual(
      (await calling.records()).map(({ event }) => event),
      ['proxy.attempt', 'proxy.outcome'],
    )
    const { calls } = await calling.service.database.queries
      .selectFrom('grant_usage')
      .select('calls')
      .executeTakeFirstOrThrow()
    assert.equal(calls, 1)
  })

  test('a refreshed token is not sent to a host that was removed meanwhile', async (t) => {
    let onCall = async () => {}
    const answer: Answer = (response) => {
      void onCall().then(() => response.writeHead(401).end())
    }
    const calling = await startOAuthCalling(t, engine, { answer })
    onCall = () => setHosts(calling, ['elsewhere.example'])
    const { status, body } = await calling.proxy()
    assert.deepEqual([status, body.error?.code], [403, 'host_not_allowed'])
    assert.equal(calling.upstream.received.length, 1)
  })

  test('a call in flight ends if its host is removed, also after a redirect', async (t) => {
    let location = ''
    const hang: Answer = (response, { path }) => {
      if (path === '/hop') response.writeHead(307, { location }).end()
      else response.writeHead(200, { 'content-type': 'text/plain' }).write('data: one\n\n')
    }
    const other = await startUpstream(t, hang)
    const first = await startUpstream(t, hang)
    location = other.url
    const both = [first.host, other.host]
    const calling = await startCalling(t, engine, {
      settings: { SALLYPORT_EGRESS_ALLOW: both.join(',') },
      provider: { api_hosts: both },
      terms: { allowedHosts: both },
    })
    const { app } = calling.service
    const stays = await calling.stream({ url: first.url })
    const ends = [
      await calling.stream({ url: other.url }),
      await calling.stream({ url: first.url.replace('/things', '/hop'), follow_redirects: true }),
    ]
    await app.checkCallsInFlight()
    assert.ok([stays, ...ends].every(({ answer }) => !answer.destroyed))
    for (const { answer } of [stays, ...ends]) answer.on('error', () => undefined)
    const closed = ends.map(({ answer }) => new Promise((resolve) => answer.on('close', resolve)))
    await setHosts(calling, [first.host])
    await app.checkCallsInFlight()
    await soon(Promise.all(closed))
    assert.ok(ends.every(({ answer }) => !answer.complete))
    assert.equal(stays.answer.destroyed, false)
    stays.answer.destroy()
    const outcomes = (await calling.records()).filter(({ event }) => event === 'proxy.outcome')
    assert.deepEqual(outcomes.map(({ detail }) => detail['code']).sort(), [
      'caller_gone',
      'host_not_allowed',
      'host_not_allowed',
    ])
  })
})
