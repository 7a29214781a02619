import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callStatuses } from '@sallyport/protocol/calls'
import { formatCountdown, requestLine, tellOutcome } from './describe-held-call.ts'

test('an expired call says that it was not denied, and each outcome has words of its own', () => {
  const tells = callStatuses.map((status) => tellOutcome({ status, upstream_status: null }).text)
  assert.equal(new Set(tells).size, callStatuses.length)
  const expired = tellOutcome({ status: 'expired', upstream_status: null }).text
  assert.match(expired, /^This request expired\. It was not denied\./)
  assert.doesNotMatch(tellOutcome({ status: 'denied', upstream_status: null }).text, /expired/)
})

test('a call that was made says what the provider answered', () => {
  const tells = (upstream_status: number | null) => tellOutcome({ status: 'done', upstream_status })
  assert.deepEqual([tells(201).title, tells(201).text], ['Done', 'The provider answered 201.'])
  assert.deepEqual([tells(404).title, tells(404).tone], ['Refused by the provider', 'warn'])
  assert.equal(tells(null).title, 'Not made')
})

test('a call without a sentence is named by its method, host and path', () => {
  const line = (url: string) => requestLine({ description: { method: 'POST', url } as never })
  assert.equal(line('https://api.acme.example/v1/items?secret=1#x'), 'POST api.acme.example/v1/items')
  assert.equal(line('nonsense'), 'POST nonsense')
})

test('the time left counts down to zero', () => {
  const times = [-1, 0, 1, 59_001, 299_500, 3_600_000, 86_399_000].map(formatCountdown)
  assert.deepEqual(times, ['0:00', '0:00', '0:01', '1:00', '5:00', '1:00:00', '23:59:59'])
})
