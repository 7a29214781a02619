import assert from 'node:assert/strict'
import { test } from 'node:test'
import { presets } from './catalogue.ts'
import { isCredentialField, isCredentialType, textNamesCredentialField } from './credential-fields.ts'

const fields = ['OauthToken', 'AuthSession', '=User']

test('a name is compared as it is, except for its case', () => {
  for (const name of ['OauthToken', 'OAUTHTOKEN']) assert.ok(isCredentialField(fields, name), name)
  for (const name of ['OauthTokens', 'User', 'MyAuthSession', '']) assert.ok(!isCredentialField(fields, name), name)
  for (const name of ['oauthtoken', 'User', ' user ']) assert.ok(isCredentialType(fields, name), name)
  for (const name of ['UserRole', 'User is locked out', 'SELECT Id FROM OauthToken', '']) {
    assert.ok(!isCredentialType(fields, name), name)
  }
  assert.ok(!isCredentialField([], 'OauthToken'))
})

test('in a text, each word is compared', () => {
  for (const text of [
    'SELECT Id FROM OauthToken',
    'FIND {x} RETURNING authsession(Id)',
    '<object>&#79;auth&#x54;oken</object>',
    Buffer.from('OauthToken', 'utf16le').toString('latin1'),
    '#OauthToken',
  ]) {
    assert.ok(textNamesCredentialField(fields, text), text)
  }
  for (const text of ['', 'SELECT Id FROM OauthToken_2', 'myOauthToken', 'Oauth Token', 'O&auth;Token', '&#9999999;']) {
    assert.ok(!textNamesCredentialField(fields, text), text)
  }
  assert.ok(!textNamesCredentialField([], 'OauthToken'))
})

test('in a text, a type name that is an ordinary word matches only as a whole value', () => {
  for (const text of ['"User"', "'user'", '<object>User</object>', '<object> User </object>']) {
    assert.ok(textNamesCredentialField(fields, text), text)
  }
  for (const text of ['"User is locked out"', 'SELECT Name FROM User', '"UserRole"', '"Name of a User"']) {
    assert.ok(!textNamesCredentialField(fields, text), text)
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
