import assert from 'node:assert/strict'
import { test } from 'node:test'
import { presets } from './catalogue.ts'
import { namesCredentialField } from './credential-fields.ts'

const fields = ['apiKeyCreate', 'webhookCreate']
const mutation = 'mutation { apiKeyCreate(input: {label: "x"}) { apiKey { id } } }'

function refuses(...requests: string[]): void {
  for (const request of requests) assert.ok(namesCredentialField(fields, request), request)
}

function allows(...requests: string[]): void {
  for (const request of requests) assert.ok(!namesCredentialField(fields, request), request)
}

test('a request that names a credential field is found in every notation', () => {
  refuses(
    mutation,
    JSON.stringify({ query: mutation }),
    JSON.stringify([{ query: '{ viewer { id } }' }, { query: mutation }]),
  )
  refuses('{"query":"mutation { \\u0061piKeyCreate { id } }"}', '{"query":"mutation {\\napiKeyCreate\\n}"}')
  refuses('{"query":"mutation {\\tharmless: webhookCreate{id}}"}', `query=${encodeURIComponent(mutation)}`)
  refuses('query=mutation+%7B+%61piKeyCreate+%7D', 'query=%7B%22q%22%3A%22%5Cu0061piKeyCreate%22%7D')
  refuses(Buffer.from(mutation, 'utf16le').toString('latin1'), 'x:apiKeyCreate', '#apiKeyCreate')
})

test('other requests are not', () => {
  allows('', '{}', '{"query":"{ viewer { id } }"}', 'mutation { apiKeyCreated }', 'mutation { myapiKeyCreate }')
  refuses('mutation { apikeycreate }', '{"type":"WEBHOOKCREATE"}')
  allows('mutation { apiKey Create }', 'mutation { apiKeyCreate_2 }')
  assert.ok(!namesCredentialField([], mutation))
})

test('a type name that is an ordinary word matches only as a whole value', () => {
  const types = ['=User']
  for (const body of [
    '{"type":"User"}',
    '{"type": "user"}',
    '<object>User</object>',
    '{\\"type\\":\\"User\\"}',
    "{'a':'User'}",
  ]) {
    assert.ok(namesCredentialField(types, body), body)
  }
  for (const body of [
    '{"Subject":"User is locked out"}',
    'q=SELECT Name FROM User',
    '{"type":"UserRole"}',
    '"Name of a User"',
  ]) {
    assert.ok(!namesCredentialField(types, body), body)
  }
})

test('presets with credential fields have valid names and batch paths', () => {
  const named = presets.filter(({ credentialFields }) => credentialFields)
  assert.deepEqual(
    named.map(({ id }) => id),
    ['github', 'linear', 'salesforce', 'shopify'],
  )
  for (const { credentialFields = [], batchPaths = [] } of named) {
    for (const field of credentialFields) assert.match(field, /^=?[A-Za-z_]\w*$/)
    assert.ok(batchPaths.length > 0)
  }
})
