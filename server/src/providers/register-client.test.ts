/**
 * Results of dynamic client registration. The provider is stored either way, and the agent gets only a coarse reason.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import type { InsteadOfAnswer } from '../../testkit/oauth-faults.ts'
import { oauthPaths } from '../../testkit/oauth-server.ts'
import { startProviderTest } from '../../testkit/providers.ts'

const json = { 'content-type': 'application/json' }
const created = (body: object): InsteadOfAnswer => ({ status: 201, headers: json, body: JSON.stringify(body) })

onBothDatabases('a registration', (engine) => {
  test('that requires an initial access token fails, and the proposal waits', async (t) => {
    const { propose, oauth } = await startProviderTest(t, engine, {
      oauth: { registration: { initialAccessToken: 'only-for-those-who-know' } },
    })
    const { status, body } = await propose({ provider_name: 'Acme Notes', issuer_url: oauth.issuer })
    assert.deepEqual(
      [status, body.status, body.registration_error],
      [201, 'pending_credentials', 'registration_refused'],
    )
  })

  test('that fails leaves the proposal waiting, with a coarse reason', async (t) => {
    const { propose, oauth } = await startProviderTest(t, engine, { settings: { SALLYPORT_PROPOSALS_PER_DAY: '50' } })
    const secret = 'x'.repeat(16)
    const ends: [InsteadOfAnswer, string][] = [
      [{ status: 400, headers: json, body: '{"error": "invalid_redirect_uri"}' }, 'registration_refused'],
      [{ status: 403, headers: json, body: '{"error": "access_denied"}' }, 'registration_refused'],
      [{ status: 201, headers: json, body: 'garbage' }, 'registration_invalid'],
      [{ status: 201, headers: { 'content-type': 'text/html' }, body: '<p>' }, 'registration_invalid'],
      [{ status: 201, headers: json, body: '[]' }, 'registration_invalid'],
      [created({}), 'registration_invalid'],
      [created({ client_id: 7 }), 'registration_invalid'],
      [created({ client_id: 'a\nb', client_secret: secret, client_secret_expires_at: 0 }), 'registration_invalid'],
      [created({ client_id: 'x'.repeat(501) }), 'registration_invalid'],
      [created({ client_id: 'a', client_secret: 'too-short', client_secret_expires_at: 0 }), 'registration_invalid'],
      [created({ client_id: 'a', client_secret: `${secret}\n`, client_secret_expires_at: 0 }), 'registration_invalid'],
      [
        created({ client_id: 'a', client_secret: `${secret}\ud800`, client_secret_expires_at: 0 }),
        'registration_invalid',
      ],
      [
        created({ client_id: 'a', client_secret: 'x'.repeat(2001), client_secret_expires_at: 0 }),
        'registration_invalid',
      ],
      [created({ client_id: 'a', filler: 'x'.repeat(2_000_000) }), 'registration_invalid'],
      [{ status: 302, headers: { location: 'https://169.254.169.254/' } }, 'registration_invalid'],
      ['cut', 'registration_unreachable'],
    ]
    for (const [index, [end, error]] of ends.entries()) {
      oauth.fault.answer(oauthPaths.registration, end, 1)
      const { status, body } = await propose({ provider_name: `Notes ${index}`, issuer_url: oauth.issuer })
      assert.deepEqual(
        [status, body.status, body.registration_error, body.client_id, body.has_client_secret],
        [201, 'pending_credentials', error, null, false],
        JSON.stringify(end).slice(0, 200),
      )
    }
  })

  test('without a secret creates a public client', async (t) => {
    const { propose, oauth } = await startProviderTest(t, engine)
    oauth.fault.answer(oauthPaths.registration, created({ client_id: 'public' }), 1)
    const { body } = await propose({ provider_name: 'Acme Notes', issuer_url: oauth.issuer })
    assert.deepEqual(
      [body.status, body.client_id, body.token_endpoint_auth_method, body.has_client_secret],
      ['active', 'public', 'none', false],
    )
  })
})

describe('a registration', () => {
  test('that hangs times out, and the proposal waits', async (t) => {
    const { propose, oauth } = await startProviderTest(t, 'sqlite')
    oauth.fault.answer(oauthPaths.registration, 'hang')
    const { status, body } = await propose({ provider_name: 'Acme Notes', issuer_url: oauth.issuer })
    assert.deepEqual(
      [status, body.status, body.registration_error],
      [201, 'pending_credentials', 'registration_unreachable'],
    )
  })
})
