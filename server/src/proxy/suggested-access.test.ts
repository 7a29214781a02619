import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ErrorCode } from '@sallyport/protocol/errors'
import { CreateAccessRequestBody } from '@sallyport/protocol/access-requests'
import { Value } from 'typebox/value'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import { ServiceError } from '../platform/errors.ts'
import { createProviderStore } from '../providers/provider-store.ts'
import { judgeUrl } from './destination.ts'
import { suggestedAccess, withSuggestedAccess } from './suggested-access.ts'

const provider = { slug: 'example', preset: null, apiHosts: ['api.example.com', '*.eu.example.com:8443'] }

function way(code: ErrorCode, url: string, of: typeof provider | undefined = provider) {
  return suggestedAccess(new ServiceError(code), of, { destination: judgeUrl(url, undefined), method: 'POST' })
}

test('an error that another grant could resolve says what to request', () => {
  const codes: ErrorCode[] = [
    'access_not_allowed',
    'grant_not_found',
    'grant_revoked',
    'grant_expired',
    'grant_exhausted',
    'host_not_allowed',
    'method_not_allowed',
    'path_not_allowed',
  ]
  for (const code of codes) {
    const wanted = { provider: 'example', hosts: ['api.example.com'], methods: ['POST'] }
    assert.deepEqual(way(code, 'https://api.example.com/v1?a=b'), wanted)
    assert.ok(Value.Check(CreateAccessRequestBody, wanted))
    assert.deepEqual(way(code, 'https://a.eu.example.com:8443/')?.hosts, ['a.eu.example.com:8443'])
  }
})

test('an error that no grant resolves suggests nothing', () => {
  const none = [
    'credential_endpoint',
    'invalid_url',
    'rate_limited',
    'connection_needs_reauth',
    'denied_by_exception',
    'call_denied',
    'call_expired',
    'call_cancelled',
  ] as const
  for (const code of none) {
    assert.equal(way(code, 'https://api.example.com/v1'), undefined)
  }
  assert.equal(way('host_not_allowed', 'https://evil.example/'), undefined)
  assert.equal(way('host_not_allowed', 'https://api.example.com:8443/'), undefined)
  assert.equal(
    suggestedAccess(new ServiceError('grant_not_found'), undefined, {
      destination: judgeUrl('https://a.example/', undefined),
      method: 'GET',
    }),
    undefined,
  )
  const github = { slug: 'github', preset: 'github', apiHosts: ['api.github.com'] }
  const call = { destination: judgeUrl('https://api.github.com/graphql', undefined), method: 'POST' }
  assert.equal(suggestedAccess(new ServiceError('path_not_allowed'), github, call), undefined, 'a batch')
})

test('the suggestion is added to an otherwise unchanged error', () => {
  const error = new ServiceError('method_not_allowed', { field: 'method', message: 'No.', detail: 'for the log' })
  const wanted = { provider: 'example', hosts: ['api.example.com'], methods: ['POST'] }
  const { code, field, publicMessage, detail, extra } = withSuggestedAccess(error, wanted)
  assert.deepEqual([code, field, publicMessage, detail], ['method_not_allowed', 'method', 'No.', 'for the log'])
  assert.deepEqual(extra, { access_request: wanted })
  assert.equal(withSuggestedAccess(error, undefined), error)
})

onBothDatabases('the provider of a host', (engine) => {
  test('is an active one that lists it, preferably a verified one', async (t) => {
    const { call, adminToken, clock, database, vault } = await startService(t, engine)
    const create = async (slug: string, hosts: string[]) => {
      const { status } = await call('POST', '/v4/providers', {
        token: adminToken,
        body: {
          provider_name: `Provider ${slug}`,
          slug,
          authorization_url: 'https://auth.example.com/authorize',
          token_url: 'https://auth.example.com/token',
          client_id: 'id',
          client_secret: 'a-secret-of-enough-characters',
          api_hosts: hosts,
        },
      })
      assert.equal(status, 201)
      clock.advance(1)
    }
    const { findByHost } = createProviderStore(vault)
    const found = async (host: string) => (await findByHost(database.queries, host))?.slug
    await create('wide', ['*.example.com', 'example.com:8443'])
    await create('exact', ['api.example.org'])
    await create('later', ['api.example.org', 'only.example.org'])
    for (const [host, slug] of [
      ['a.example.com', 'wide'],
      ['a.b.example.com', 'wide'],
      ['example.com:8443', 'wide'],
      ['api.example.org', 'exact'],
      ['only.example.org', 'later'],
      ['example.com', undefined],
      ['a.example.com:8443', undefined],
      ['api_example.org', undefined],
      ['%', undefined],
      ['org', undefined],
    ] as const) {
      assert.equal(await found(host), slug, host)
    }
    const set = (slug: string, values: object) =>
      database.queries.updateTable('providers').set(values).where('slug', '=', slug).execute()
    await set('exact', { source: 'proposal' })
    assert.equal(await found('api.example.org'), 'later')
    await set('later', { status: 'disabled' })
    assert.equal(await found('api.example.org'), 'exact')
  })
})
