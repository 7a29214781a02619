import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as egress from '../egress/failures.ts'
import { ServiceError } from '../errors.ts'
import { isUnavailable } from './failures.ts'
import { OAuthAnswerInvalid, OAuthRefused } from './oauth-client.ts'

test('whatever stops a call on its way leaves the answer open', () => {
  const { invalidUrl, notAllowed, unreachable, tlsFailure, timedOut, tooLarge } = egress
  const made = [notAllowed, unreachable, tlsFailure, timedOut, tooLarge].map((make) => make('a.example', 'a reason'))
  const all = [...made, invalidUrl('no URL'), new ServiceError('provider_unavailable')]
  for (const error of all) assert.ok(isUnavailable(error), error.code)
})

test('a refusal, an answer that does not hold and a failure of our own are something else', () => {
  const ours = (['not_ready', 'conflict', 'internal', 'not_found'] as const).map((code) => new ServiceError(code))
  for (const error of [...ours, new OAuthRefused('x'), new OAuthAnswerInvalid('x'), new TypeError('x'), undefined]) {
    assert.ok(!isUnavailable(error), String(error))
  }
})
