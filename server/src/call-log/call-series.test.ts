import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bucketOf, startsOf } from './call-series.ts'
import type { Span } from './call-series.ts'

function span(since: string, until: string, buckets: number): Span {
  return { since: new Date(since), until: new Date(until), buckets }
}

test('a time falls into the interval that begins at or before it; the end is exclusive', () => {
  for (const one of [
    span('2026-11-15T12:00:00Z', '2026-11-15T13:00:00Z', 60),
    span('2026-11-15T12:00:00Z', '2026-11-15T12:00:00.007Z', 3),
    span('2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z', 7),
    span('2016-11-15T12:00:00.123Z', '2026-11-15T11:59:59.999Z', 97),
    span('2026-11-15T12:00:00Z', '2026-11-15T12:00:00.100Z', 100),
  ]) {
    const starts = startsOf(one)
    assert.equal(starts.length, one.buckets)
    assert.deepEqual(starts[0], one.since)
    starts.forEach((start, index) => {
      assert.equal(bucketOf(one, start.getTime()), index)
      assert.equal(bucketOf(one, start.getTime() - 1), index === 0 ? undefined : index - 1)
    })
    assert.equal(bucketOf(one, one.until.getTime() - 1), one.buckets - 1)
    assert.equal(bucketOf(one, one.until.getTime()), undefined)
  }
})
