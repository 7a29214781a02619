import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import { retryTime } from './backoff.ts'
import { createLog } from './operations/log.ts'
import { createOutbox } from './outbox.ts'

const quiet = createLog({ logLevel: 'silent', logFormat: 'json' }, { write: () => undefined })

/** Items that are due, and the moments at which each is let go. */
function outboxOf(due: string[], concurrency: number) {
  const gates = new Map<string, PromiseWithResolvers<undefined>>()
  const done: string[] = []
  const outbox = createOutbox({
    what: 'letters',
    claim: (limit) => Promise.resolve(due.splice(0, limit)),
    carryOut: async (item) => {
      const gate = Promise.withResolvers<undefined>()
      gates.set(item, gate)
      await gate.promise
      done.push(item)
    },
    concurrency,
    log: quiet,
  })
  const begun = async (count: number) => {
    while (gates.size < count) await turn()
    await turn()
    return [...gates.keys()]
  }
  return { ...outbox, begun, done, release: (item: string) => gates.get(item)?.resolve(undefined) }
}

test('the number of concurrent deliveries is limited, and a slow one does not block those behind it', async () => {
  const outbox = outboxOf(['slow', 'b', 'c', 'd'], 2)
  const all = outbox.due()
  assert.deepEqual(await outbox.begun(2), ['slow', 'b'])
  outbox.release('b')
  assert.deepEqual(await outbox.begun(3), ['slow', 'b', 'c'])
  outbox.release('c')
  await outbox.begun(4)
  outbox.release('d')
  outbox.release('slow')
  await all
  assert.deepEqual(outbox.done, ['b', 'c', 'd', 'slow'])
})

test('an item that is added while another is delivered starts without delay', async () => {
  const due = ['slow']
  const outbox = outboxOf(due, 5)
  outbox.kick()
  await outbox.begun(1)
  due.push('new')
  outbox.kick()
  assert.deepEqual(await outbox.begun(2), ['slow', 'new'])
  outbox.release('new')
  outbox.release('slow')
  await outbox.ended()
  assert.deepEqual(outbox.done, ['new', 'slow'])
})

test('after `ended` nothing more starts, and it waits for running deliveries', async () => {
  const due = ['a', 'b']
  const outbox = outboxOf(due, 1)
  outbox.kick()
  await outbox.begun(1)
  const ended = outbox.ended()
  outbox.release('a')
  await ended
  await outbox.due()
  assert.deepEqual([outbox.done, due], [['a'], ['b']])
})

test('items that become due during a claim are found in the same round', async () => {
  const due: string[] = []
  const done: string[] = []
  const read = Promise.withResolvers<undefined>()
  const outbox = createOutbox({
    what: 'letters',
    claim: async (limit) => {
      const found = due.splice(0, limit)
      await read.promise
      return found
    },
    carryOut: (item: string) => Promise.resolve(void done.push(item)),
    concurrency: 5,
    log: quiet,
  })
  const first = outbox.due()
  due.push('just now')
  const second = outbox.due()
  read.resolve(undefined)
  await Promise.all([first, second])
  assert.deepEqual(done, ['just now'])
})

test('it waits for a running delivery even if the database was lost meanwhile', async () => {
  const due = ['slow']
  let isLost = false
  const gate = Promise.withResolvers<undefined>()
  const outbox = createOutbox({
    what: 'letters',
    claim: (limit) => (isLost ? Promise.reject(new Error('no database')) : Promise.resolve(due.splice(0, limit))),
    carryOut: () => gate.promise,
    concurrency: 5,
    log: quiet,
  })
  const round = outbox.due()
  await turn()
  isLost = true
  outbox.kick()
  await assert.rejects(round, /no database/)
  let hasEnded = false
  const ended = outbox.ended().then(() => (hasEnded = true))
  await turn()
  assert.equal(hasEnded, false)
  gate.resolve(undefined)
  await ended
})

test('a delivery that cannot be completed is logged, and the others continue', async () => {
  const lines: string[] = []
  const log = createLog({ logLevel: 'error', logFormat: 'json' }, { write: (line) => lines.push(line) })
  const due = ['bad', 'good']
  const done: string[] = []
  const carryOut = (item: string) => {
    if (item === 'bad') return Promise.reject(new Error('no database'))
    done.push(item)
    return Promise.resolve()
  }
  const claim = (limit: number) => Promise.resolve(due.splice(0, limit))
  await createOutbox({ what: 'letters', claim, carryOut, concurrency: 1, log }).due()
  assert.deepEqual(done, ['good'])
  assert.match(lines.join(''), /letters: a delivery could not be completed and will be retried/)
})

test('pauses double up to a maximum, with jitter', () => {
  const now = new Date('2026-11-15T12:00:00.000Z')
  const pauseOf = (attempts: number) =>
    retryTime(now, attempts, { firstMs: 1000, longestMs: 60_000 }).getTime() - now.getTime()
  for (const [attempts, ms] of [
    [1, 1000],
    [2, 2000],
    [5, 16_000],
    [7, 60_000],
    [5000, 60_000],
  ] as const) {
    const pauses = Array.from({ length: 20 }, () => pauseOf(attempts))
    for (const pause of pauses) assert.ok(pause >= ms * 0.75 && pause <= ms * 1.25, `${attempts}: ${pause}`)
    assert.ok(new Set(pauses).size > 1)
  }
})
