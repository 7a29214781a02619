/** The contract of the call log when a step fails: nothing is partly written, counted twice or lost silently. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCallLog } from '../../testkit/call-log.ts'
import type { TestCallLog } from '../../testkit/call-log.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import type { CallLogNeeds } from './call-log.ts'

type Needs = Partial<CallLogNeeds>
type Step = (given: TestCallLog, fail: () => void) => Needs

/** Fails once the step is done. */
function after<Given extends unknown[], Result>(step: (...given: Given) => Result, fail: () => void) {
  return (...given: Given): Result => {
    const result = step(...given)
    if (!(result instanceof Promise)) {
      fail()
      return result
    }
    return result.then((value: unknown) => {
      fail()
      return value
    }) as Result
  }
}

/** In the order in which a transaction goes through them. */
const stepsOfTransaction: Record<string, Step> = {
  'the token': ({ stores: { agents } }, fail) => ({
    agents: { ...agents, findCurrent: after(agents.findCurrent, fail) },
  }),
  'the count': ({ stores: { grants } }, fail) => ({
    grants: { ...grants, countCalls: after(grants.countCalls, fail) },
  }),
  'the use of the connection': ({ stores: { connections } }, fail) => ({
    connections: { ...connections, markUsed: after(connections.markUsed, fail) },
  }),
  'the record': ({ stores: { audit } }, fail) => ({ audit: { ...audit, appendAll: after(audit.appendAll, fail) } }),
}

const lost = () => new Error('Connection terminated unexpectedly')

/** The same database, whose commits succeed but report an error. */
function losingAnswers(database: Database, fail: () => void): Database {
  return {
    ...database,
    transaction: after(<T>(work: (tx: Queries) => Promise<T>, options?: object) => {
      return database.transaction(work, options)
    }, fail),
  }
}

/** Throws so many times. */
function failing(times: number): () => void {
  return () => {
    if (times-- > 0) throw lost()
  }
}

onBothDatabases('the call log, where something fails', (engine) => {
  test('a transaction that fails after any of its steps has written nothing', async (t) => {
    const given = await startCallLog(t, engine, 'transactional')
    for (const [step, needs] of Object.entries(stepsOfTransaction)) {
      const log = given.another(needs(given, failing(1)))
      const call = await given.newCall()
      if (call.standing.connection) call.standing.connection.lastUsedAt = null
      await assert.rejects(log.begin(call), lost(), step)
      assert.deepEqual([await given.countOf(call), await given.eventsOf(call)], [0, []], step)
      await log.begin(call)
      assert.deepEqual([await given.countOf(call), await given.eventsOf(call)], [1, ['proxy.attempt']], step)
    }
    assert.deepEqual(await given.findings(), [])
  })

  for (const mode of ['transactional', 'single-statement'] as const) {
    test(`a commit with unknown result ends its calls, each counted and recorded once (${mode})`, async (t) => {
      const given = await startCallLog(t, engine, mode)
      const { database } = given.service
      const { singleStatements } = given.stores
      const fail = failing(1)
      const log = given.another(
        mode === 'transactional'
          ? { database: losingAnswers(database, fail) }
          : { singleStatements: { insert: after(singleStatements.insert, fail) } },
      )
      const calls = [await given.newCall(), await given.newCall(), await given.newCall()]
      for (const { reason } of await rejectedBy(calls.map(log.begin))) assert.deepEqual(reason, lost())
      for (const call of calls) {
        assert.deepEqual([await given.countOf(call), await given.eventsOf(call)], [1, ['proxy.attempt']])
      }
      await Promise.all(calls.map(given.again).map(log.begin))
      for (const call of calls) assert.equal(await given.countOf(call), 2)
      assert.deepEqual(await given.findings(), [])
    })

    test(`an outcome is written again if its commit has an unknown result (${mode})`, async (t) => {
      const given = await startCallLog(t, engine, mode)
      const { database } = given.service
      const calls = [await given.newCall(), await given.newCall()]
      await Promise.all(calls.map(given.log.begin))
      const undone = failing(2)
      const log = given.another({
        database: {
          ...database,
          transaction: (work, options) => {
            undone()
            return database.transaction(work, options)
          },
        },
        singleStatements: {
          insert: (...values) => {
            undone()
            return given.stores.singleStatements.insert(...values)
          },
        },
      })
      const ends = calls.map((call) => log.end(call, 'answered', { status: 200 }))
      await log.flush()
      await Promise.all(ends)
      const events = await Promise.all(calls.map(given.eventsOf))
      // Of two that failed together each is tried once more by itself: the first of them fails again.
      assert.deepEqual(events, [['proxy.attempt'], ['proxy.attempt', 'proxy.outcome']])
      assert.ok(given.service.log.some((line) => line.includes('the outcome of a call could not be recorded')))
      assert.deepEqual(await given.findings(), [])
    })
  }
})

async function rejectedBy(work: readonly Promise<unknown>[]): Promise<PromiseRejectedResult[]> {
  const settled = await Promise.allSettled(work)
  const rejected = settled.filter((one) => one.status === 'rejected')
  assert.equal(rejected.length, settled.length)
  return rejected
}
