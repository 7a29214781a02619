import assert from 'node:assert/strict'
import { test } from 'node:test'
import { durationOf, factsOf } from './record-facts.ts'

const at = '2026-01-01T00:00:00.000Z'

test('facts have names that people know, and no member of the record', () => {
  const detail = { method: 'POST', host: 'api.example', path: '/x', query: ['q', 'page'], call_id: 'cal_1', term: 'x' }
  const result = { status: 404, bytes: 20_480, redactions: 1, ms: 20, outcome: 'answered' }
  assert.deepEqual(
    factsOf({ detail, result }).map(({ name, text }) => `${name}: ${text}`),
    [
      'Method: POST',
      'Host: api.example',
      'Path: /x',
      'Query parameters: q, page',
      'Answer status: 404',
      'Answer size: 20.5 kB',
      'Credentials removed: 1',
    ],
  )
})

test('what is missing, empty or of another shape is left out', () => {
  assert.deepEqual(factsOf({ detail: { query: [], method: 1, path: '' }, result: { redactions: 0 } }), [])
  assert.deepEqual(factsOf({ detail: { code: 'rate_limited' }, result: null }), [
    { name: 'Reason', text: 'Too many calls' },
  ])
  assert.deepEqual(factsOf({ detail: {}, result: null }), [])
})

test('a duration is in milliseconds, seconds or minutes', () => {
  const took = (ms: number) => durationOf({ at, concluded_at: new Date(Date.parse(at) + ms).toISOString() })
  assert.deepEqual(
    [took(1), took(999), took(1_234), took(61_000)],
    ['1 millisecond', '999 milliseconds', '1.2 seconds', '1 min 1 s'],
  )
  assert.equal(durationOf({ at, concluded_at: null }), undefined)
  assert.equal(took(-5), '0 milliseconds', 'clocks may be set back')
})
