import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { onBothDatabases } from '../../../testkit/databases.ts'
import { startService } from '../../../testkit/service.ts'
import { ServiceError } from '../errors.ts'
import type { Database, Queries } from './database.ts'
import { createGroupCommit } from './group-commit.ts'
import { openDatabase } from '../operations/instance.ts'
import { endOfTick } from '../event-loop/tick-batching.ts'

type Test = Parameters<typeof startService>[0]

type Work = (tx: Queries) => Promise<unknown>

/** Each does what it likes, and may refuse. */
async function doTogether(tx: Queries, works: readonly Work[]): Promise<(ServiceError | undefined)[]> {
  const refusals: (ServiceError | undefined)[] = []
  for (const work of works) {
    try {
      await work(tx)
      refusals.push(undefined)
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      refusals.push(error)
    }
  }
  return refusals
}

/** A table of numbers, one way to write them, and another connection that sees only what was committed. */
async function startNumbers(t: Test, engine: Parameters<typeof startService>[1]) {
  const { database, config } = await startService(t, engine)
  // As after a tick with several calls, whatever ran in this process before.
  void endOfTick()
  void endOfTick()
  await nextTurn()
  await sql`create table numbers (n integer primary key)`.execute(database.queries)
  let transactions = 0
  let answerLostAt = 0
  const repeatable = new Set<Work>()
  const counted: Database = {
    ...database,
    transaction: async (work, options) => {
      transactions++
      const result = await database.transaction(work, options)
      if (transactions === answerLostAt) throw new Error('Connection terminated unexpectedly')
      return result
    },
  }
  const other = openDatabase(config)
  t.after(() => other.close())
  const write = (n: number) => async (tx: Queries) => {
    await sql`insert into numbers (n) values (${n})`.execute(tx)
  }
  return {
    group: createGroupCommit(counted, doTogether, { mayRepeat: (work) => repeatable.has(work) }),
    write,
    repeatable,
    loseNextAnswer: () => {
      answerLostAt = transactions + 1
    },
    transactions: () => transactions,
    committed: async () => {
      const { rows } = await sql<{ n: number }>`select n from numbers order by n`.execute(other.queries)
      return rows.map(({ n }) => n)
    },
  }
}

onBothDatabases('entries that share a commit', (engine) => {
  test('arrive together and are on disk together', async (t) => {
    const { group, write, transactions, committed } = await startNumbers(t, engine)
    const numbers = Array.from({ length: 50 }, (_, n) => n)
    await Promise.all(numbers.map((n) => group.commit(write(n))))
    assert.equal(transactions(), 1)
    assert.deepEqual(await committed(), numbers)
  })

  test('when idle, the first entry commits without delay and the others of its tick share the next commit', async (t) => {
    const { group, write, transactions, committed } = await startNumbers(t, engine)
    for (let turn = 0; turn < 256; turn++) await endOfTick()
    const numbers = Array.from({ length: 10 }, (_, n) => n)
    const all = Promise.all(numbers.map((n) => group.commit(write(n))))
    // For those that come after us here there is company again.
    await Promise.all([endOfTick(), endOfTick(), nextTurn()])
    await all
    assert.equal(transactions(), 2)
    assert.deepEqual(await committed(), numbers)
  })

  test('are at most 64, in the order of their arrival', async (t) => {
    const { group, write, transactions } = await startNumbers(t, engine)
    const order: number[] = []
    const numbers = Array.from({ length: 150 }, (_, n) => n)
    const works = numbers.map((n) =>
      group.commit((tx) => {
        order.push(n)
        return write(n)(tx)
      }),
    )
    await Promise.all(works)
    assert.equal(transactions(), 3)
    assert.deepEqual(order, numbers)
  })

  test('are each on disk before they resolve', async (t) => {
    const { group, write, committed } = await startNumbers(t, engine)
    await Promise.all(
      [1, 2, 3].map(async (n) => {
        await group.commit(write(n))
        assert.ok((await committed()).includes(n))
      }),
    )
  })

  test('are not affected by one that is refused', async (t) => {
    const { group, write, transactions, committed } = await startNumbers(t, engine)
    const refused = group.commit(() => Promise.reject(new ServiceError('grant_exhausted')))
    const results = await Promise.allSettled([group.commit(write(1)), refused, group.commit(write(2))])
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.ok(results[1].status === 'rejected' && results[1].reason instanceof ServiceError)
    assert.deepEqual([transactions(), await committed()], [1, [1, 2]])
  })

  test('are written without the one that breaks the transaction, which fails by itself', async (t) => {
    const { group, write, committed } = await startNumbers(t, engine)
    const poison = async (tx: Queries) => {
      await write(7)(tx)
      await sql`insert into no_such_table values (1)`.execute(tx)
    }
    const results = await Promise.allSettled([group.commit(write(1)), group.commit(poison), group.commit(write(2))])
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.deepEqual(await committed(), [1, 2])
    await group.commit(write(3))
    assert.deepEqual(await committed(), [1, 2, 3])
  })

  test('are not written again if they may have been written, unless they are idempotent', async (t) => {
    const { group, write, repeatable, loseNextAnswer, transactions, committed } = await startNumbers(t, engine)
    let times = 0
    const harmless: Work = async (tx) => {
      await sql`insert into numbers (n) values (${++times * 10})`.execute(tx)
    }
    repeatable.add(harmless)
    loseNextAnswer()
    const results = await Promise.allSettled([group.commit(write(1)), group.commit(harmless), group.commit(write(2))])
    assert.deepEqual(
      results.map(({ status }) => status),
      ['rejected', 'fulfilled', 'rejected'],
    )
    assert.deepEqual([transactions(), await committed()], [2, [1, 2, 10, 20]])
  })

  test('wait for each other if the last commit had several; a single one commits without delay', async (t) => {
    const { group, write, transactions } = await startNumbers(t, engine)
    const twoInTurns = async (one: number, other: number) => {
      const first = group.commit(write(one))
      await nextTurn()
      await Promise.all([first, group.commit(write(other))])
    }
    await Promise.all([group.commit(write(1)), group.commit(write(2))])
    assert.equal(transactions(), 1)
    await twoInTurns(3, 4)
    assert.equal(transactions(), 2)
    await group.commit(write(5))
    assert.equal(transactions(), 3)
    await twoInTurns(6, 7)
    assert.equal(transactions(), 5)
  })

  test('stop waiting for each other when ticks of the event loop are long', async (t) => {
    const { group, write, transactions } = await startNumbers(t, engine)
    await Promise.all([group.commit(write(1)), group.commit(write(2))])
    const before = transactions()
    const commits: Promise<void>[] = []
    // Each turn brings another entry and takes longer than the wait may.
    for (let turn = 0; turn < 10 && transactions() === before; turn++) {
      commits.push(group.commit(write(3 + turn)))
      const began = performance.now()
      while (performance.now() < began + 5) continue
      await nextTurn()
    }
    assert.ok(commits.length <= 3, `the first entry waited for ${commits.length} turns`)
    await Promise.all(commits)
  })

  test('take along entries that can wait, which are written after a while if none comes', async (t) => {
    const { group, write, transactions, committed } = await startNumbers(t, engine)
    const waiting = group.commitLater(write(1))
    assert.equal(transactions(), 0)
    await Promise.all([group.commit(write(2)), waiting])
    assert.equal(transactions(), 1)
    await group.commitLater(write(3))
    assert.deepEqual(await committed(), [1, 2, 3])
  })

  test('are on disk after a flush, including those added while others are being written', async (t) => {
    const { group, write, committed } = await startNumbers(t, engine)
    const first = group.commit(write(1))
    await nextTurn()
    const second = group.commitLater(write(2))
    await group.flush()
    assert.deepEqual(await committed(), [1, 2])
    await Promise.all([first, second])
    await group.flush()
  })

  test('are still written after a flush that ran before the scheduled commit', async (t) => {
    const { group, write, committed } = await startNumbers(t, engine)
    const first = group.commit(write(1))
    await group.flush()
    await first
    await nextTurn()
    const second = group.commit(write(2))
    const never = new Promise((_resolve, reject) => setTimeout(reject, 5000, new Error('it is never written')).unref())
    await Promise.race([second, never])
    assert.deepEqual(await committed(), [1, 2])
  })
})
