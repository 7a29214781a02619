import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '../errors.ts'
import { createLoadShedding } from './load-shedding.ts'

function start(strangers = { perSecond: 10, burst: 20 }, known = { perSecond: 20, burst: 50 }) {
  const state = { ms: 0, utilization: 0.9 }
  const { assertRoom, know } = createLoadShedding({
    strangers,
    known,
    now: () => state.ms,
    utilization: () => state.utilization,
  })
  const admits = (caller?: string): boolean => {
    try {
      assertRoom(caller)
      return true
    } catch (error) {
      assert.ok(error instanceof ServiceError && error.code === 'rate_limited')
      assert.equal(error.retryAfterSeconds, 1)
      return false
    }
  }
  const admitted = (count: number, caller?: string) =>
    Array.from({ length: count }, () => admits(caller)).filter(Boolean).length
  return { state, know, admitted }
}

test('nothing is refused while the event loop is not busy', () => {
  const { state, admitted } = start()
  state.utilization = 0.5
  for (state.ms = 0; state.ms < 10_000; state.ms += 100) assert.equal(admitted(100), 100)
})

test('while it is busy, strangers share one rate, with or without a token', () => {
  const { state, admitted } = start()
  state.ms = 200
  assert.equal(admitted(100) + admitted(100, 'agent one') + admitted(100, 'agent two'), 20)
  state.ms += 1000
  assert.equal(admitted(100, 'agent one') + admitted(100), 10)
})

test('a known caller has a rate of its own, which strangers do not use up', () => {
  const { state, know, admitted } = start()
  know('agent known')
  state.ms = 200
  admitted(1000)
  assert.equal(admitted(100, 'agent known'), 50)
  state.ms += 1000
  assert.equal(admitted(100, 'agent known'), 20)
})

test('it goes on for five seconds, because refusing makes the event loop less busy', () => {
  const { state, admitted } = start()
  state.ms = 200
  admitted(100)
  state.utilization = 0.1
  state.ms = 5000
  assert.equal(admitted(100), 20)
  state.ms = 5300
  assert.equal(admitted(100), 100)
})

test('rates of 0 mean no limit', () => {
  const off = start({ perSecond: 0, burst: 1 })
  off.state.ms = 200
  assert.equal(off.admitted(100), 100)
  const unlimited = start(undefined, { perSecond: 0, burst: 1 })
  unlimited.know('agent known')
  unlimited.state.ms = 200
  assert.equal(unlimited.admitted(1000, 'agent known'), 1000)
})
