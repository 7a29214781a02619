import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SallyportError } from '@sallyport/sdk'
import type { Method } from './connectable.ts'
import { faultOf, hostNamed, labelOf, titleOf } from './describe-method.ts'

const member = (name: string, more: Partial<Method['members'][number]> = {}): Method['members'][number] => ({
  ...{ name, label: null, secret: true, optional: false, format: 'text', pattern: null, host: null },
  ...more,
})
const method = (members: Method['members'], more: Partial<Method> = {}): Method => ({
  ...{ kind: 'api_key', name: 'api_key', label: null, help: null, checks: 'account', members },
  ...more,
})
const about = { name: 'Acme', conflict: 'another account' }

test('members are labelled by the provider, by the method, or by their names', () => {
  const [key, site] = [member('api_key'), member('site', { secret: false, host: '{site}.acme.example' })]
  assert.equal(labelOf(key, method([key])), 'API key')
  assert.equal(labelOf(key, method([site, key], { label: 'Personal access token' })), 'Personal access token')
  assert.equal(labelOf(key, method([key, member('other')], { label: 'Two keys' })), 'API key')
  assert.equal(labelOf(member('account_sid', { label: 'Account SID' }), method([key])), 'Account SID')
  assert.equal(labelOf(member('account_sid'), method([key])), 'Account sid')
  assert.deepEqual(
    [hostNamed(site, ' Ours '), hostNamed(site, ''), hostNamed(key, 'x')],
    ['ours.acme.example', '….acme.example', undefined],
  )
})

test('methods are named by the provider, or by their kind', () => {
  assert.equal(titleOf(method([], { kind: 'oauth2' }), 'Acme'), 'Sign in with Acme')
  assert.equal(titleOf(method([], { label: 'Bot token' }), 'Acme'), 'Bot token')
  assert.equal(titleOf(method([], { kind: 'basic' }), 'Acme'), 'User name and password')
})

test('an error names the field, in the words of the form', () => {
  const [key, user] = [member('api_key'), member('user', { secret: false })]
  const ours = method([user, key])
  const failure = (code: SallyportError['code'], field: string, message = '', upstreamStatus?: number) =>
    faultOf(new SallyportError(code, message, { field, upstreamStatus }), ours, about)
  assert.deepEqual(failure('invalid_field', 'credential.api_key', '"credential.api_key" must not be empty.'), {
    member: 'api_key',
    text: 'API key must not be empty.',
  })
  assert.deepEqual(failure('credential_refused', 'credential', '', 401), {
    member: 'api_key',
    text: 'Acme didn’t accept this key. It answered with status 401. Nothing was stored.',
  })
  assert.deepEqual(failure('conflict', 'credential'), { member: 'api_key', text: 'another account' })
  assert.equal(failure('conflict', 'provider_slug'), undefined)
  assert.equal(faultOf(new Error('anything'), ours, about), undefined)
  const two = method([key, member('application_key')])
  const refused = new SallyportError('credential_refused', '', { field: 'credential', upstreamStatus: 403 })
  assert.equal(faultOf(refused, two, about)?.member, undefined)
})
