/** The contract of the call log: every implementation keeps it, on both databases. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { startCallLog } from '../../testkit/call-log.ts'
import type { TestCallLog } from '../../testkit/call-log.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { grantsInEveryState } from '../../testkit/grant-states.ts'
import { refusalFor, whyUnusable } from '../grants/usable.ts'
import { ServiceError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { perSecond } from '../platform/limits/rate-limits.ts'
import type { LoggedCall } from './entry.ts'

const attempt = ['proxy.attempt']

/** The code of each refusal, undefined for what went through. */
async function codesOf(work: readonly Promise<unknown>[]): Promise<unknown[]> {
  const settled = await Promise.allSettled(work)
  return settled.map((one) => (one.status === 'rejected' ? codeOf(one.reason) : undefined))
}

function codeOf(error: unknown): unknown {
  return error instanceof ServiceError ? error.code : error
}

function tally(codes: readonly unknown[]): Map<unknown, number> {
  const counts = new Map<unknown, number>()
  for (const code of codes) counts.set(code, (counts.get(code) ?? 0) + 1)
  return counts
}

function repeated({ again }: TestCallLog, call: LoggedCall, times: number): LoggedCall[] {
  return Array.from({ length: times }, () => again(call))
}

const promises: Record<string, (given: TestCallLog) => Promise<void>> = {
  'calls that begin at once are each counted once and recorded once': async ({ log, newCall, ...given }) => {
    const calls = []
    for (let index = 0; index < 16; index++) calls.push(await newCall())
    const [first] = calls
    assert.ok(first)
    calls.push(...repeated({ log, newCall, ...given }, first, 4))
    await Promise.all(calls.map(log.begin))
    for (const call of calls) {
      assert.equal(await given.countOf(call), call.standing === first.standing ? 5 : 1)
      assert.deepEqual(await given.eventsOf(call), attempt)
    }
  },

  'a call is recorded in order: begin, hops, end': async ({ log, newCall, eventsOf }) => {
    const call = await newCall()
    await log.begin(call)
    await log.hop(call, 'redirect')
    await log.hop(call, 'token_renewed')
    void log.end(call, 'answered', { status: 200 })
    await log.flush()
    assert.deepEqual(await eventsOf(call), [...attempt, 'proxy.hop', 'proxy.hop', 'proxy.outcome'])
  },

  'no more calls begin than the grant allows, however many race on however many instances': async (given) => {
    const { log, another, newCall, countOf } = given
    const call = await newCall({ maxCalls: 7 })
    const there = another()
    const racing = repeated(given, call, 24).map((one, index) => (index % 2 ? log : there).begin(one))
    assert.deepEqual(
      tally(await codesOf(racing)),
      new Map<unknown, number>([
        [undefined, 7],
        ['grant_exhausted', 17],
      ]),
    )
    assert.equal(await countOf(call), 7)
    // Later calls are then refused before they reach a commit.
    assert.equal(whyUnusable({ ...call.standing, isTokenCurrent: true }, given.service.clock.now()), 'grant_exhausted')
  },

  'no more calls begin than the rate allows, however many come at once': async (given) => {
    const { log, newCall, countOf } = given
    const key = `call ${newId('agt', given.service.clock.now())}`
    const call = await newCall({}, { route: { rate: { key, limit: perSecond(1, 60) } } })
    const codes = []
    for (let round = 0; round < 5; round++) codes.push(...(await codesOf(repeated(given, call, 20).map(log.begin))))
    assert.deepEqual(
      tally(codes),
      new Map<unknown, number>([
        [undefined, 60],
        ['rate_limited', 40],
      ]),
    )
    assert.equal(await countOf(call), 60)
  },

  'a call with a key and one without count on the same grant': async (given) => {
    const { log, newCall, again, countOf, eventsOf } = given
    const call = await newCall({ maxCalls: 6 })
    const nothing = () => Promise.resolve(undefined)
    const begin = (one: LoggedCall, index: number) => (index % 2 ? log.begin(one) : log.beginUnless(one, nothing))
    const codes = tally(await codesOf(repeated(given, call, 16).map(begin)))
    assert.deepEqual([codes.get(undefined), codes.get('grant_exhausted')], [6, 10])
    const settled = again(call)
    assert.equal(await log.beginUnless(settled, () => Promise.resolve('an answer')), 'an answer')
    assert.deepEqual(await eventsOf(settled), [])
    assert.equal(await countOf(call), 6)
  },

  'what a keyed call wrote is undone when it is refused': async ({ log, newCall, stores, service }) => {
    const { auditId, ...call } = await newCall({ maxCalls: 0 })
    const { agentId, standing } = call
    const deadline = service.clock.now()
    const keyed = { agentId, grantId: standing.grant.grantId, key: 'a', requestHash: 'b', auditId, deadline }
    const begin = () =>
      log.beginUnless({ ...call, auditId }, async (tx) => {
        const { kind } = await stores.idempotency.claim(tx, keyed, service.clock.now())
        return kind === 'new' ? undefined : kind
      })
    assert.deepEqual(await codesOf([begin()]), ['grant_exhausted'])
    assert.deepEqual(await codesOf([begin()]), ['grant_exhausted'], 'the key is free')
  },

  'a stored answer is not for a former token': async ({ log, newCall }) => {
    const call = await newCall({}, { tokenHash: randomBytes(32) })
    assert.deepEqual(await codesOf([log.beginUnless(call, () => Promise.resolve('an answer'))]), ['unauthenticated'])
  },

  'a redirect counts as a call, a repetition with a renewed token does not': async (given) => {
    const { log, newCall, countOf } = given
    const call = await newCall({ maxCalls: 2 })
    await log.begin(call)
    await log.hop(call, 'redirect')
    await log.hop(call, 'token_renewed')
    assert.equal(await countOf(call), 2)
    assert.deepEqual(await codesOf([log.hop(call, 'redirect')]), ['grant_exhausted'])
    await log.assertStillUsable(call)
  },

  'a hop is refused once the grant ends, or its provider loses the host': async ({ log, newCall, stores, service }) => {
    const [moved, revoked] = [await newCall(), await newCall()]
    const elsewhere = { ...moved, destination: { host: 'other.example.com' } }
    await Promise.all([log.begin(moved), log.begin(revoked)])
    await stores.grants.revoke(service.database.queries, revoked.standing.grant.grantId, 'user', service.clock.now())
    for (const [call, code] of [
      [elsewhere, 'host_not_allowed'],
      [revoked, 'grant_revoked'],
    ] as const) {
      const all = [log.hop(call, 'redirect'), log.hop(call, 'token_renewed'), log.assertStillUsable(call)]
      assert.deepEqual(await codesOf(all), [code, code, code])
    }
  },

  'the use of a connection is written, once a minute': async ({ log, newCall, again, service }) => {
    const call = await newCall()
    assert.ok(call.standing.connection)
    const id = call.standing.connection.connectionId
    call.standing.connection.lastUsedAt = null
    const query = service.database.queries.selectFrom('connections').select('last_used_at')
    const lastUsed = async () => (await query.where('connection_id', '=', id).executeTakeFirst())?.last_used_at
    const at = service.clock.now().getTime()
    await log.begin(call)
    assert.equal(await lastUsed(), at)
    service.clock.advance(59)
    await log.begin(again(call))
    assert.equal(await lastUsed(), at)
    service.clock.advance(2)
    await log.begin(again(call))
    assert.equal(await lastUsed(), at + 61_000)
  },

  'a call that was judged before its grant ended is refused alone': async (given) => {
    const { log, callOn, steps, countOf, eventsOf, service } = given
    const all = await grantsInEveryState(service)
    const now = service.clock.now()
    const calls = []
    for (const one of all) calls.push({ ...one, call: await callOn(one), before: one.state.grant.calls })
    const expected = calls
      .map(({ state }) => whyUnusable(state, now))
      .map((reason) => reason && refusalFor(reason).code)
    assert.deepEqual(await codesOf(calls.map(({ call }) => log.begin(call))), expected)
    for (const { name, call, before, state } of calls) {
      const isBegun = whyUnusable(state, now) === undefined
      assert.deepEqual(await eventsOf(call), isBegun ? attempt : [], name)
      assert.equal(await countOf(call), isBegun ? before + 1 : before, name)
    }
    // By itself each is judged by the statement that counts it.
    for (const { name, call, state } of calls) {
      const done = steps.done
      if (whyUnusable({ ...state, grant: { ...state.grant, calls: await countOf(call) } }, now) === undefined) continue
      assert.notDeepEqual(await codesOf([log.begin(given.again(call))]), [undefined], name)
      assert.equal(steps.done, done, name)
    }
  },
}

onBothDatabases('the call log', (engine) => {
  for (const mode of ['transactional', 'single-statement'] as const) {
    test(`keeps its contract (${mode})`, async (t) => {
      const given = await startCallLog(t, engine, mode)
      for (const [promise, holds] of Object.entries(promises)) {
        await t.test(promise, async () => {
          await holds(given)
          assert.deepEqual(await given.findings(), [])
        })
      }
      // Most of the calls that have to be refused were, by the one step itself.
      const { tried, done } = given.steps
      assert.deepEqual([done > 3, tried - done > 50], Array<boolean>(2).fill(mode === 'single-statement'))
    })
  }
})
