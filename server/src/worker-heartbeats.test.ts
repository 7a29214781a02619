import assert from 'node:assert/strict'
import { test } from 'node:test'
import { heartbeatMs, watchHeartbeats } from './worker-heartbeats.ts'

function crewOf(...workers: string[]) {
  const stuck: string[] = []
  const counts: number[] = []
  const heartbeats = watchHeartbeats<string>({
    stuckMs: 9_000,
    onStuck: (worker) => stuck.push(worker),
    onChange: (silent) => counts.push(silent),
  })
  for (const worker of workers) heartbeats.heard(worker)
  const pass = (ticks: number, elapsedMs = heartbeatMs, alive: string[] = []) => {
    for (let tick = 0; tick < ticks; tick++) {
      heartbeats.tick(elapsedMs)
      for (const worker of alive) heartbeats.heard(worker)
    }
  }
  return { stuck, counts, pass, ...heartbeats }
}

test('a worker that says nothing is silent after a third of the limit, and stuck after all of it', () => {
  const { stuck, counts, pass, isSilent } = crewOf('one', 'other')
  pass(2, heartbeatMs, ['other'])
  assert.ok(!isSilent('one'))
  pass(1, heartbeatMs, ['other'])
  assert.ok(isSilent('one'))
  assert.deepEqual([stuck, counts], [[], [1]])
  pass(6, heartbeatMs, ['other'])
  assert.deepEqual(stuck, ['one'])
  pass(20, heartbeatMs, ['other'])
  assert.deepEqual([stuck, counts], [['one'], [1]], 'reported once')
})

test('a sign of life starts the count again, also for one that was silent', () => {
  const { stuck, counts, pass, heard } = crewOf('one')
  pass(8)
  heard('one')
  pass(8)
  assert.deepEqual([stuck, counts], [[], [1, 0, 1]])
})

test('time in which the primary process did not run does not count', () => {
  const { stuck, pass, heard } = crewOf('one')
  // The machine slept for an hour; the next sign comes a tick after it woke.
  pass(1, 3_600_000)
  assert.deepEqual(stuck, [])
  pass(1)
  heard('one')
  // It was stopped again and again, or never got more than a slice of the time.
  for (let time = 0; time < 100; time++) {
    pass(1, 60_000)
    heard('one')
  }
  assert.deepEqual(stuck, [])
})

test('one that has left is neither counted nor reported', () => {
  const { stuck, counts, pass, left } = crewOf('one')
  pass(3)
  left('one')
  pass(20)
  assert.deepEqual([stuck, counts], [[], [1, 0]])
})

test('a start may take ten times as long, and is then stuck too', () => {
  const { stuck, counts, pass, started, heard } = crewOf()
  started('slow')
  started('hanging')
  pass(80)
  assert.deepEqual([stuck, counts], [[], []])
  heard('slow')
  pass(7)
  assert.deepEqual(stuck, [], 'its first sign starts the usual count')
  pass(3, heartbeatMs, ['slow'])
  assert.deepEqual(stuck, ['hanging'])
})
