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

test('no more than so many are under way, and a slow one holds up nobody behind it', async () => {
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

test('what comes while another is under way is begun at once', async () => {
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

test('once it ends it begins nothing more and waits for what is under way', async () => {
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

test('what becomes due while the others are being read is found in the same round', async () => {
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

test('it has not ended while one is under way, although the database was lost since', async () => {
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

test('one that can not be settled is logged, and the others go on', async () => {
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
  assert.match(lines.join(''), /letters: one could not be settled/)
})

test('pauses double, are bounded, and differ', () => {
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
