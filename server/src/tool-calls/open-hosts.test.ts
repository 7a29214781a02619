/** Hosts where a provider's tools read files by URLs that are enough: no credential goes there. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { insertConnection, startCalling } from '../../testkit/calling.ts'
import type { Calling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { insertGrant } from '../../testkit/grants.ts'
import { openTunnel, startTools } from '../../testkit/tool-calling.ts'
import type { ToolReply } from '../../testkit/tool-calling.ts'
import { standingStore } from '../grants/standing-store.ts'
import { connectionRoute } from '../proxy/connection-route.ts'
import type { Sendable } from '../proxy/upstream.ts'

const open = 'codeload.github.com'
const codeOf = ({ status, body }: ToolReply) => [status, body.error.code]

async function withGitHub(calling: Calling, terms: object = {}): Promise<string> {
  const { service, agent, userId } = calling
  const body = { preset: 'github', client_id: 'id', client_secret: 'a-secret-that-nobody-has' }
  const made = await service.call('POST', '/v4/providers', { token: service.adminToken, body })
  assert.equal(made.status, 201, made.text)
  const connectionId = await insertConnection(service, userId, made.body.provider_id as string)
  const places = { agentId: agent.agentId, userId, connectionId, allowedHosts: ['api.github.com'] }
  return (await insertGrant(service, { ...places, ...terms })).grantId
}

onBothDatabases('a host that takes no credential', (engine) => {
  /** Nothing answers there: that it can't be reached shows that the call was allowed. */
  const settings = { SALLYPORT_EGRESS_ALLOW: `${open}:443` }
  const lookup = () => Promise.resolve([{ address: '127.0.0.1', family: 4 as const }])

  test('is reached with GET and HEAD, at both doors, and the call is on record', async (t) => {
    const calling = await startCalling(t, engine, { settings, lookup })
    const grantId = await withGitHub(calling)
    const { key, send } = await startTools(t, calling, [calling.grantId, grantId])
    const tunnel = await openTunnel(t, calling, { key, host: open, version: 'HTTP/1.1' })
    assert.deepEqual(codeOf(await tunnel('/o/r/tar.gz/main?token=a')), [502, 'upstream_unreachable'])
    assert.equal((await tunnel('/o/r/tar.gz/main', { method: 'HEAD' })).status, 502)
    assert.equal((await send(`/v4/proxy/${grantId}/${open}/o/r`)).status, 502)
    for (const method of ['POST', 'DELETE', 'OPTIONS'])
      assert.deepEqual(codeOf(await tunnel('/o/r', { method })), [403, 'method_not_allowed'])
    const attempts = (await calling.records()).filter(({ event }) => event === 'proxy.attempt')
    assert.deepEqual(
      attempts.map(({ grant_id, detail: { host } }) => [grant_id, host]),
      Array.from({ length: 3 }, () => [grantId, open]),
    )
  })

  test('is where a redirect of the API leads, at a base URL too', async (t) => {
    const location = `https://${open}/o/r?token=a`
    const calling = await startCalling(t, engine, { answer: (response) => response.writeHead(302, { location }).end() })
    const { service, grantId, providerId } = calling
    const { call } = await startTools(t, calling)
    assert.equal((await call('/things')).headers['x-sallyport-location'], location)
    const { queries } = service.database
    await queries.updateTable('providers').set({ preset: 'github' }).where('provider_id', '=', providerId).execute()
    const { headers } = await call('/things')
    assert.equal(headers.location, `${service.config.baseUrl.origin}/v4/proxy/${grantId}/${open}/o/r?token=a`)
  })

  test('is for a grant of its provider alone, and for tools', async (t) => {
    const calling = await startCalling(t, engine, { settings, lookup })
    const grantId = await withGitHub(calling)
    const { key, send } = await startTools(t, calling)
    const tunnel = await openTunnel(t, calling, { key, host: open, version: 'HTTP/1.1' })
    assert.deepEqual(codeOf(await tunnel('/o/r')), [403, 'host_not_allowed'])
    assert.deepEqual(codeOf(await send(`/v4/proxy/${calling.grantId}/${open}/o/r`)), [403, 'host_not_allowed'])
    const own = await calling.proxy({ grant_id: grantId, url: `https://${open}/o/r` })
    assert.deepEqual([own.status, own.body.error.code], [403, 'host_not_allowed'])
    await calling.service.call('POST', `/v4/grants/${grantId}/revoke`, { token: calling.agent.token })
    assert.equal((await calling.records()).filter(({ event }) => event === 'proxy.attempt').length, 0)
  })

  test('gets nothing of the account, and ends with the grant', async (t) => {
    const calling = await startCalling(t, engine, { settings, lookup })
    const { service, agent } = calling
    const grantId = await withGitHub(calling)
    const standing = (await standingStore.find(service.database.queries, agent.agentId, grantId)) ?? assert.fail()
    const config = { proxyRatePerAgent: 1, proxyBurstPerAgent: 1 }
    const route = connectionRoute(
      { ...service, config, credentialOf: () => assert.fail('a credential was opened') },
      standing,
    )
    assert.equal(route.openAt?.('api.github.com'), undefined)
    assert.equal(route.openAt?.(`evil.${open}`), undefined)
    const credential = await (route.openAt?.(open) ?? assert.fail()).credential()
    const request: Sendable = {
      method: 'GET',
      url: new URL(`https://${open}/o/r?a=1`),
      headers: [['a', 'b']],
      body: undefined,
    }
    await credential.apply(request)
    assert.deepEqual([request.url.href, request.headers], [`https://${open}/o/r?a=1`, [['a', 'b']]])
    const { key } = await startTools(t, calling, [grantId])
    const tunnel = await openTunnel(t, calling, { key, host: open, version: 'HTTP/1.1' })
    await service.call('POST', `/v4/grants/${grantId}/revoke`, { token: agent.token })
    assert.deepEqual(codeOf(await tunnel('/o/r')), [403, 'grant_revoked'])
  })
})
