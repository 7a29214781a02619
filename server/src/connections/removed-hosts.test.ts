/** An admin removes a host on which a credential depends: it is sent there no more, not even to be checked. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adasKeys, roleArn, startAws } from '../../testkit/aws-server.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { adasKey, adasNewKey, apiKeyMethod, startEntered } from '../../testkit/entered-credentials.ts'
import type { EnteredTest } from '../../testkit/entered-credentials.ts'

const inject = [{ in: 'header', name: 'x-api-key', template: '{api_key}' }]

async function setHosts({ call, providerId, adminToken }: EnteredTest, api_hosts: string[]) {
  const reply = await call('PATCH', `/v4/providers/${providerId}`, { token: adminToken, body: { api_hosts } })
  assert.equal(reply.status, 200, reply.text)
}

onBothDatabases('a host that is removed', (engine) => {
  test('is not asked about credentials, and connections that it was asked about stay', async (t) => {
    const other = (host: string) => host.replace('localhost', 'other.example.com')
    const test = await startEntered(t, engine, {
      methods: (host) => [apiKeyMethod(host)],
      apiHosts: (host) => [host, other(host)],
      allowed: (host) => [host, other(host)],
      lookup: () => Promise.resolve([{ address: '127.0.0.1' }]),
    })
    const { connect, replace, grantOn, upstream, call, user } = test
    const { body: made } = await connect({ api_key: adasKey })
    const { proxy } = await grantOn(made.connection_id, [upstream.host, other(upstream.host)])
    const elsewhere = { url: `https://${other(upstream.host)}/things` }
    assert.equal((await proxy(elsewhere)).body.status, 200)
    await setHosts(test, [other(upstream.host)])
    const before = upstream.received.length
    const recheck = () => call('POST', `/v4/connections/${made.connection_id}/check`, { token: user.token })
    for (const reply of [
      await connect({ api_key: adasNewKey }),
      await replace(made.connection_id, { api_key: adasNewKey }),
      await recheck(),
    ]) {
      assert.deepEqual([reply.status, reply.body.error?.code], [409, 'conflict'], reply.text)
      assert.match(reply.body.error.message, /no longer has localhost:\d+.*administrator/)
    }
    assert.equal((await proxy()).body.error.code, 'host_not_allowed')
    assert.equal(upstream.received.length, before)
    assert.equal((await proxy(elsewhere)).body.status, 200)
    const { body } = await call('GET', '/v4/connections', { token: user.token })
    assert.equal(body.connections[0].status, 'active')
    await setHosts(test, [upstream.host])
    assert.equal((await recheck()).status, 200)
  })

  test('of a tenant takes no calls and no further accounts', async (t) => {
    const tenants = (host: string) => host.replace('localhost', '*.example.com')
    const tenant = (host: string, name: string) => host.replace('localhost', `${name}.example.com`)
    const test = await startEntered(t, engine, {
      methods: (host) => [
        {
          ...{ kind: 'api_key', inject },
          members: [{ name: 'site', host: tenant(host, '{site}') }, { name: 'api_key' }],
        },
      ],
      apiHosts: (host) => [tenants(host), host],
      allowed: (host) => [tenant(host, 'ada')],
      lookup: () => Promise.resolve([{ address: '127.0.0.1' }]),
    })
    const { connect, grantOn, upstream } = test
    const { body } = await connect({ site: 'ada', api_key: adasKey })
    const ada = tenant(upstream.host, 'ada')
    const { proxy } = await grantOn(body.connection_id, [ada])
    const called = async () => (await proxy({ url: `https://${ada}/` })).body.error?.code ?? 'sent'
    assert.equal(await called(), 'sent')
    for (const hosts of [[upstream.host], [tenant(upstream.host, 'grace')]]) {
      await setHosts(test, hosts)
      assert.equal(await called(), 'host_not_allowed')
      const refused = await connect({ site: 'ada', api_key: adasNewKey })
      assert.deepEqual([refused.status, refused.body.error?.code], [409, 'conflict'])
    }
    assert.equal(upstream.received.length, 1)
    await setHosts(test, [ada])
    assert.equal(await called(), 'sent')
  })

  test('gets no credential that was injected for it alone', async (t) => {
    const other = (host: string) => host.replace('localhost', 'other.example.com')
    const test = await startEntered(t, engine, {
      methods: (host) => [
        {
          kind: 'api_key',
          inject: [
            { ...inject[0], hosts: [host] },
            { ...inject[0], name: 'x-other', hosts: [other(host)] },
          ],
        },
      ],
      apiHosts: (host) => [host, other(host)],
      allowed: (host) => [host, other(host)],
      lookup: () => Promise.resolve([{ address: '127.0.0.1' }]),
    })
    const { connect, grantOn, upstream } = test
    const { body } = await connect({ api_key: adasKey })
    const { proxy } = await grantOn(body.connection_id, [upstream.host, other(upstream.host)])
    const elsewhere = { url: `https://${other(upstream.host)}/` }
    assert.equal((await proxy(elsewhere)).body.status, 401, 'sent, with another header than the API reads')
    await setHosts(test, [upstream.host])
    assert.equal((await proxy(elsewhere)).body.error.code, 'host_not_allowed')
    assert.equal((await proxy()).body.status, 200)
    assert.deepEqual(
      upstream.received.map(({ headers }) => [headers['x-api-key'], headers['x-other']]),
      [
        [undefined, adasKey],
        [adasKey, undefined],
      ],
    )
  })

  test('of STS names no account and issues no keys of a role', async (t) => {
    const aws = await startAws(t, engine)
    aws.lifetimeSeconds = 1
    const inRegions = aws.upstream.host.replace('localhost', '*.example.com')
    const { body: made } = await aws.connect({ ...adasKeys, role_arn: roleArn })
    const { proxy } = await aws.grantOn(made.connection_id, [aws.upstream.host, inRegions])
    const call = async () => (await proxy({ url: aws.urlOf('eu-west-3.example.com', '/b/k') })).body
    await setHosts(aws, [inRegions])
    const before = aws.upstream.received.length
    const refused = await aws.connect(adasKeys)
    assert.deepEqual([refused.status, refused.body.error?.code], [409, 'conflict'])
    aws.clock.advance(3_600)
    assert.equal((await call()).error?.code, 'provider_unavailable')
    assert.equal(aws.upstream.received.length, before)
    await setHosts(aws, [aws.upstream.host, inRegions])
    assert.equal((await call()).error, undefined)
    assert.ok(aws.upstream.received.length > before)
  })
})
