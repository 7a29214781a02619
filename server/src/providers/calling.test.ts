import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAuthorizationParams, readInjection } from './calling.ts'

test('a token may go into a custom header, whose name is kept in lower case', () => {
  for (const name of ['Authorization', 'X-Api-Key', 'PRIVATE-TOKEN', 'x-figma-token']) {
    assert.equal(readInjection({ in: 'header', name, prefix: '' }).name, name.toLowerCase())
  }
})

test('framing, routing and hop-by-hop headers cannot carry the token', () => {
  const names = ['Host', 'content-length', 'Content-Type', 'content-encoding', 'connection', 'Transfer-Encoding', 'te']
  const more = ['trailer', 'upgrade', 'keep-alive', 'cookie', 'Set-Cookie', 'expect', 'proxy-authorization', 'range']
  for (const name of [...names, ...more, 'x-forwarded-for', 'forwarded', 'accept-encoding', 'accept', 'via']) {
    assert.throws(() => readInjection({ in: 'header', name, prefix: '' }), {
      code: 'invalid_field',
      field: 'injection.name',
    })
  }
})

test('extra authorization parameters cannot override security-relevant ones', () => {
  const added = { prompt: 'consent', access_type: 'offline', audience: 'https://api.acme.com' }
  assert.deepEqual(readAuthorizationParams(added), added)
  const ours = ['client_id', 'redirect_uri', 'response_type', 'response_mode', 'state', 'scope', 'nonce', 'request']
  for (const name of [...ours, 'request_uri', 'code_challenge', 'code_challenge_method', 'STATE', '', 'a b', 'ä']) {
    assert.throws(() => readAuthorizationParams({ [name]: 'x' }), {
      code: 'invalid_field',
      field: `authorization_params.${name}`,
    })
  }
})
