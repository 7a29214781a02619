import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAuthorizationParams, readInjection } from './calling.ts'

test('a token may go into a header of its own, whose name is kept in lower case', () => {
  for (const name of ['Authorization', 'X-Api-Key', 'PRIVATE-TOKEN', 'x-figma-token']) {
    assert.equal(readInjection({ in: 'header', name, prefix: '' }).name, name.toLowerCase())
  }
})

test('a header that frames or routes the call, or belongs to one hop, takes no token', () => {
  const names = ['Host', 'content-length', 'Content-Type', 'content-encoding', 'connection', 'Transfer-Encoding', 'te']
  const more = ['trailer', 'upgrade', 'keep-alive', 'cookie', 'Set-Cookie', 'expect', 'proxy-authorization', 'range']
  for (const name of [...names, ...more, 'x-forwarded-for', 'forwarded', 'accept-encoding', 'accept', 'via']) {
    assert.throws(() => readInjection({ in: 'header', name, prefix: '' }), {
      code: 'invalid_field',
      field: 'injection.name',
    })
  }
})

test('parameters may add to the authorization request and change nothing that its safety rests on', () => {
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
