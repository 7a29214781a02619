import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readMetadata, wholeMetadata } from './endpoints.ts'

function refuses(said: object, field: string): void {
  assert.throws(() => readMetadata(said), { code: 'invalid_url', field }, JSON.stringify(said))
}

test('unknown metadata is dropped, and URLs are kept in canonical form', () => {
  const read = readMetadata({
    issuer: 'https://login.acme.com',
    token_endpoint: 'https://LOGIN.acme.com:443/token?tenant=7',
    authorization_response_iss_parameter_supported: true,
    id_token_signing_alg_values_supported: ['RS256'],
    ...{ jwks_uri: 'https://login.acme.com/jwks', secret: 'x' },
  })
  assert.deepEqual(read, {
    issuer: 'https://login.acme.com',
    token_endpoint: 'https://login.acme.com/token?tenant=7',
    authorization_response_iss_parameter_supported: true,
    id_token_signing_alg_values_supported: ['RS256'],
  })
})

test('members of the wrong type are refused or dropped', () => {
  for (const value of [7, null, {}, [], '', 'token', '/token', `https://a.com/${'x'.repeat(2000)}`]) {
    refuses({ token_endpoint: value }, 'token_url')
    refuses({ issuer: value }, 'issuer_url')
  }
  const odd = { id_token_signing_alg_values_supported: [7], authorization_response_iss_parameter_supported: 'yes' }
  assert.deepEqual(readMetadata(odd), {})
  assert.deepEqual(readMetadata({ id_token_signing_alg_values_supported: Array.from({ length: 51 }, () => 'a') }), {})
})

test('an endpoint with a fragment or an OAuth parameter is refused (RFC 6749 §3.1)', () => {
  for (const tail of ['#', '#x', '?client_id=x', '?a=1&State=x', '?redirect_uri=https://evil.com', '?scope=all']) {
    refuses({ authorization_endpoint: `https://a.com/authorize${tail}` }, 'authorization_url')
  }
})

test('an issuer with a query or in non-canonical form is refused', () => {
  const odd = [
    'https://a.com?',
    'https://a.com?x',
    'https://A.com',
    'https://a.com:443',
    'https:\\\\a.com',
    'https://a.com/b c',
  ]
  for (const issuer of [...odd, 'https://аcme.com', 'https://a.com\n', ' https://a.com', 'https://a.com/x/../y']) {
    refuses({ issuer }, 'issuer_url')
  }
  for (const issuer of ['https://a.com', 'https://a.com/', 'https://a.com/tenant', 'https://a.com:8443/tenant/']) {
    assert.equal(readMetadata({ issuer }).issuer, issuer)
  }
})

test('complete metadata has token and authorization endpoints, and a default issuer', () => {
  const token_endpoint = 'https://a.com/token'
  assert.throws(() => wholeMetadata({}), { code: 'missing_field', field: 'token_url' })
  assert.throws(() => wholeMetadata({ token_endpoint }), { code: 'missing_field', field: 'authorization_url' })
  const consent = { token_endpoint, authorization_endpoint: 'https://login.a.com/authorize' }
  assert.equal(wholeMetadata(consent).issuer, 'https://login.a.com')
  assert.equal(wholeMetadata({ ...consent, issuer: 'https://a.com' }).issuer, 'https://a.com')
  const device = { token_endpoint, device_authorization_endpoint: 'https://d.a.com/device' }
  assert.equal(wholeMetadata(device).issuer, 'https://d.a.com')
})
