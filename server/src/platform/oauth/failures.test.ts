import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as egress from '../egress/failures.ts'
import { ServiceError } from '../errors.ts'
import { isUnavailable } from './failures.ts'
import { OAuthAnswerInvalid, OAuthRefused } from './oauth-client.ts'

test('errors that prevented a response count as unavailable', () => {
  const { invalidUrl, notAllowed, unreachable, tlsFailure, timedOut, tooLarge } = egress
  const made = [notAllowed, unreachable, tlsFailure, timedOut, tooLarge].map((make) => make('a.example', 'a reason'))
  const all = [...made, invalidUrl('no URL'), new ServiceError('provider_unavailable')]
  for (const error of all) assert.ok(isUnavailable(error), error.code)
})

test('refusals, invalid responses and internal errors do not count as unavailable', () => {
  const ours = (['not_ready', 'conflict', 'internal', 'not_found'] as const).map((code) => new ServiceError(code))
  for (const error of [...ours, new OAuthRefused('x'), new OAuthAnswerInvalid('x'), new TypeError('x'), undefined]) {
    assert.ok(!isUnavailable(error), String(error))
  }
})

test('an error code is words, and never what could be a secret', () => {
  for (const code of [
    ...['invalid_grant', 'bad_verification_code', 'BAD_REFRESH_TOKEN', 'InvalidClientTokenId', 'AccessDenied'],
    ...['SignatureDoesNotMatch', 'oauth_authorization_url_mismatch', 'invalid-client', 'x'],
  ]) {
    assert.equal(new OAuthRefused(code).code, code)
  }
  for (const code of [
    ...['sk_live_51H', 'a1b2c3d4e5f6a7b8', 'correcthorsebatterystaple', 'QWERTYUIOPASDFGH', '', 'a b', '<script>'],
    ...['qXzWvBnMkLpOiUyT', 'x_'.repeat(40), '_invalid', 'invalid__grant'],
  ]) {
    const refused = new OAuthRefused(code)
    assert.deepEqual([refused.code, code !== '' && refused.message.includes(code)], ['unreadable_error', false], code)
  }
})
