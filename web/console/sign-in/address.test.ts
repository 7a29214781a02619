import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectErrorCodes } from '@sallyport/protocol/connections'
import { loginErrorCodes } from '@sallyport/protocol/sessions'
import { describeResult, isConnectWaiting, loginTokenIn, readAddress, waitingRequest } from './address.ts'

const at = 'http://localhost:8787'
const id = `arq_${'0'.repeat(26)}`

test('a token and a result are removed from the URL, and the rest stays', () => {
  const { brought, rest } = readAddress(`${at}/grants?error=x&other=1&connection_id=con_1#login_token=sp_login_a`)
  assert.deepEqual(brought, { loginToken: 'sp_login_a', error: 'x', connectionId: 'con_1' })
  assert.equal(rest, '/grants?other=1')
  assert.equal(readAddress(`${at}/?connect=waiting#elsewhere`).rest, '/?connect=waiting')
})

test('the next page can only be an access request or a held call', () => {
  assert.equal(waitingRequest(`decide=${id}`), `/approve-proxy/${id}`)
  const call = `cal_${'0'.repeat(26)}`
  assert.equal(waitingRequest(`decide=${call}`), `/approve-call/${call}`)
  for (const other of ['//elsewhere.example', 'arq_1/../../docs', '/docs', `${id}?x`, `${id}/..`, `${id}\n`, '']) {
    assert.equal(waitingRequest(`decide=${encodeURIComponent(other)}`), undefined, other)
  }
  assert.ok(isConnectWaiting('connect=waiting') && !isConnectWaiting('connect=//elsewhere.example'))
})

test('each result has its own sentence, and unknown ones have one too', () => {
  const codes = new Set<string>([...loginErrorCodes, ...connectErrorCodes])
  assert.equal(new Set([...codes].map(describeResult)).size, codes.size)
  for (const code of ['', 'constructor', '__proto__', '<b>']) {
    assert.equal(describeResult(code), 'Something went wrong. Please start again.')
  }
})

test('a login token is found in a link or by itself', () => {
  assert.equal(loginTokenIn(` ${at}/#login_token=sp_login_Ab1 `), 'sp_login_Ab1')
  assert.equal(loginTokenIn('sp_login_Ab1'), 'sp_login_Ab1')
  assert.equal(loginTokenIn('<b>garbage</b>'), undefined)
})
