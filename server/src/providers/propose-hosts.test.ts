/** The API hosts that an agent names: on the site of the proposal, each by name, and shown to people. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { recorded } from '../../testkit/audit.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { acme, client, startProviderTest } from '../../testkit/providers.ts'
import { startService } from '../../testkit/service.ts'
import type { Engine } from '../platform/database/database.ts'

const plenty = { SALLYPORT_PROPOSALS_PER_DAY: '1000', SALLYPORT_PROPOSALS_PER_DAY_IN_ALL: '1000' }

/** Proposals for names that resolve to public addresses. No provider is asked. */
async function startReview(t: TestContext, engine: Engine, addresses: Record<string, string> = {}) {
  const settings = { SALLYPORT_PROPOSALS: 'review', ...plenty }
  const service = await startService(t, engine, settings, undefined, (name) =>
    Promise.resolve([{ address: addresses[name] ?? '93.184.215.14' }]),
  )
  const agent = await service.registerAgent()
  let proposals = 0
  const propose = (api_hosts: unknown, more: object = {}) => {
    const { issuer_url, authorization_url, token_url } = acme
    const body = { provider_name: `Notes ${++proposals}`, issuer_url, authorization_url, token_url, api_hosts, ...more }
    return service.call('POST', '/v4/providers/proposals', { token: agent.token, body })
  }
  const asAdmin = (method: string, path: string, body?: object) =>
    service.call(method, path, { token: service.adminToken, ...(body && { body }) })
  return { service, agent, propose, asAdmin }
}

onBothDatabases('the API hosts of a proposal', (engine) => {
  test('are taken instead of the default, if they are on its site', async (t) => {
    const { service, propose } = await startReview(t, engine)
    const hosts = ['api.acme.example', 'files.eu.acme.example', 'acme.example', 'xn--bcher-kva.acme.example']
    const { status, body } = await propose(hosts)
    assert.deepEqual([status, body.api_hosts], [201, hosts], JSON.stringify(body))
    const [record] = await recorded(service, 'provider.proposed')
    assert.deepEqual(record?.detail['api_hosts'], hosts)
    assert.deepEqual((await propose(undefined)).body.api_hosts, ['login.acme.example'])
    assert.deepEqual((await propose(['api.acme.example', 'api.acme.example:443'])).body.api_hosts, ['api.acme.example'])
  })

  test('can be none of another site, no wildcard, and no second spelling', async (t) => {
    const { propose } = await startReview(t, engine)
    const elsewhere = [
      ...['evil.example', 'acme.example.evil.example', 'evilacme.example', 'api.acme.com', 'example', 'localhost'],
      ...['xn--cme-5cd.example', 'api.xn--acm-dma.example', 'github.io', 'co.uk', 's3.amazonaws.com', '93.184.215.14'],
      ...['[2606:4700::1111]', '127.0.0.1', '169.254.169.254'],
    ]
    const wildcards = ['*.acme.example', '*.example', '*.com', '*.github.io', '*', '**.acme.example', '*.evil.example']
    const odd = [
      ...['api.acme.example.', 'API.acme.example', 'bücher.acme.example', 'аpi.acme.example', 'api..acme.example'],
      ...['api.acme.example/v1', 'https://api.acme.example', 'a@api.acme.example', 'api.acme.example:0', '', '127.1'],
      ...['api.*.acme.example', 'api.acme.example:00443', 'api.acme.example#', 'api_x.acme.example', '-a.acme.example'],
    ]
    for (const host of [...elsewhere, ...wildcards, ...odd]) {
      const { status, body } = await propose(['api.acme.example', host])
      const { code, field } = body.error ?? {}
      const isRefused = code === 'invalid_field' || code === 'address_not_allowed'
      assert.ok([400, 403].includes(status) && isRefused && field === 'api_hosts.1', `${host} ${JSON.stringify(body)}`)
    }
    assert.match((await propose(['*.acme.example'])).body.error.message, /Name each host/)
    const { status, body } = await propose(['api.acme.example:8443'])
    assert.deepEqual([status, body.error.code, body.error.field], [403, 'address_not_allowed', 'api_hosts.0'])
    for (const hosts of [[], 'api.acme.example', Array.from({ length: 11 }, (_, n) => `a${n}.acme.example`)]) {
      assert.deepEqual((await propose(hosts)).body.error.field, 'api_hosts')
    }
    assert.equal((await propose(Array.from({ length: 10 }, (_, n) => `a${n}.acme.example`))).status, 201)
  })

  test('are not shared by those who only share a public suffix', async (t) => {
    const { propose } = await startReview(t, engine)
    const at = (host: string) => ({
      ...{ issuer_url: `https://${host}`, authorization_url: `https://${host}/a`, token_url: `https://${host}/t` },
    })
    const cases = [
      ['ada.github.io', 'eve.github.io'],
      ['ada.github.io', 'github.io'],
      ['ada.co.uk', 'eve.co.uk'],
      ['ada.s3.amazonaws.com', 'eve.s3.amazonaws.com'],
      ['console.amazonaws.com', 'eve.s3.amazonaws.com'],
      ['github.io', 'eve.github.io'],
      ['myshopify.com', 'eve.myshopify.com'],
      ['ada.myshopify.com', 'eve.myshopify.com'],
      ['93.184.215.14', '93.184.215.15'],
    ] as const
    for (const [site, host] of cases) {
      const { status, body } = await propose([host], at(site))
      assert.deepEqual([status, body.error?.code, body.error?.field], [400, 'invalid_field', 'api_hosts.0'], host)
      assert.match(body.error.message, /different site/)
    }
    assert.equal((await propose(['api.ada.github.io'], at('ada.github.io'))).status, 201)
  })

  test('must have public addresses, and need endpoints', async (t) => {
    const { propose } = await startReview(t, engine, { 'inside.acme.example': '10.0.0.7' })
    const { status, body } = await propose(['api.acme.example', 'inside.acme.example'])
    assert.deepEqual([status, body.error.code, body.error.field], [403, 'address_not_allowed', 'api_hosts.1'])
    const none = { issuer_url: undefined, authorization_url: undefined, token_url: undefined }
    const without = await propose(['api.acme.example'], none)
    assert.deepEqual([without.status, without.body.error.field], [400, 'api_hosts'])
  })

  test('are compared with what is discovered too', async (t) => {
    const { propose, oauth } = await startProviderTest(t, engine)
    const other = await propose({ provider_name: 'Notes', issuer_url: oauth.issuer, api_hosts: ['localhost:1'] })
    assert.deepEqual([other.status, other.body.error.field], [403, 'api_hosts.0'])
    assert.deepEqual(oauth.calls, [], 'before anyone is asked')
    const same = await propose({ provider_name: 'Notes', issuer_url: oauth.issuer, api_hosts: [oauth.host] })
    assert.deepEqual([same.status, same.body.api_hosts], [201, [oauth.host]])
  })

  test('are shown to people before they connect and when they approve', async (t) => {
    const { service, propose, asAdmin, agent } = await startReview(t, engine)
    const { body: made } = await propose(['api.acme.example', 'files.acme.example'])
    const credentials = await asAdmin('PATCH', `/v4/providers/${made.provider_id}/credentials`, client)
    assert.equal(credentials.body.status, 'active')
    const { token } = await service.logIn()
    const started = await service.call('POST', '/v4/oauth/connect/start', { token, body: { provider_slug: made.slug } })
    assert.match(started.body.warning, /trust that site\. Calls that you approve go to api\.acme\.example, files\.acme/)
    const asked = await service.call('POST', '/v4/access-requests', {
      ...{ token: agent.token, body: { provider: made.slug } },
    })
    const shown = await service.call('GET', `/v4/access-requests/${asked.body.access_request_id}`, { token })
    assert.deepEqual([shown.body.verified, shown.body.api_hosts], [false, ['api.acme.example', 'files.acme.example']])
    const many = Array.from({ length: 13 }, (_, n) => `a${n}.acme.example`)
    await asAdmin('PATCH', `/v4/providers/${made.provider_id}`, { api_hosts: many })
    const again = await service.call('POST', '/v4/oauth/connect/start', { token, body: { provider_slug: made.slug } })
    assert.match(again.body.warning, /a9\.acme\.example and 3 more\.$/)
  })

  test('are all that it says of its API: what only an admin sets is refused, with a reason', async (t) => {
    const { propose } = await startReview(t, engine)
    const inject = [{ in: 'header', name: 'x-api-key', template: '{api_key}' }]
    for (const [field, value] of Object.entries({
      auth_methods: [{ kind: 'api_key', inject }],
      client_secret: 'a-secret-of-sixteen-or-more',
      injection: { in: 'header', name: 'x-api-key', prefix: '' },
      preset: 'github',
    })) {
      const { status, body } = await propose(['api.acme.example'], { [field]: value })
      assert.deepEqual([status, body.error.code, body.error.field], [400, 'invalid_field', field])
      assert.match(body.error.message, /can only be set by an administrator/)
    }
  })
})
