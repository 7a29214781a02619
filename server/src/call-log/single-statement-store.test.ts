import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { recorded } from '../../testkit/audit.ts'
import { soon, startCalling } from '../../testkit/calling.ts'
import type { Calling } from '../../testkit/calling.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { insertGrant } from '../../testkit/grants.ts'
import { proxyTo } from '../../testkit/proxy.ts'
import { startService } from '../../testkit/service.ts'
import { auditChainStore } from '../audit/audit-chain-store.ts'
import { createAuditKeyStore } from '../audit/audit-key-store.ts'
import { createStores } from '../stores.ts'
import { verifyAudit } from '../audit/verify-audit.ts'
import type { Grant } from '../grants/grant.ts'
import { grantStore } from '../grants/grant-store.ts'
import type { Engine } from '../platform/database/database.ts'
import { RolledBack } from '../platform/database/failures.ts'

interface Crowd extends Calling {
  /** The status of each call: one by each of the agents, all at once. */
  callByAll: () => Promise<number[]>
  grantIds: string[]
  /** How many commits went the short way. */
  sent: () => number
  /** What happens meanwhile around those of them that have calls, instead of the commit alone. */
  around: <T>(commits: Around, work: () => Promise<T>) => Promise<T>
  callsOf: (grantId: string) => Promise<number>
  attempts: (grantId: string) => Promise<number>
  assertIntact: () => Promise<void>
}

type Around = (commit: () => Promise<unknown>) => Promise<unknown>

/** So many agents with a grant each, on a service that has gone the short way before. */
async function startCrowd(t: TestContext, engine: Engine, count: number, terms: Partial<Grant> = {}): Promise<Crowd> {
  const settings = {
    SALLYPORT_PROXY_BURST_PER_AGENT: '60',
    SALLYPORT_REGISTRATIONS_PER_MINUTE: '100',
  }
  const calling = await startCalling(t, engine, { settings })
  const { service, upstream, userId, connectionId } = calling
  const { database } = service
  const { queries } = database
  let sent = 0
  let around: Around | undefined
  const watched = <T>(isOfCalls: boolean, commit: () => Promise<T> | undefined): Promise<T> | undefined => {
    const undone = () => Promise.reject<T>(new RolledBack())
    const sending = isOfCalls && around ? (around(() => commit() ?? undone()) as Promise<T>) : commit()
    if (sending) sent++
    return sending
  }
  const isAttempt = (value: unknown) => typeof value === 'string' && value.includes('proxy.attempt')
  const { runSingleStatement, runBatchTransaction } = database
  database.runSingleStatement = (query) => watched(query.parameters.some(isAttempt), () => runSingleStatement(query))
  database.runBatchTransaction = (notes) => {
    const isOfCalls = notes.some(({ rows }) => rows.some((values) => values.some(isAttempt)))
    return watched(isOfCalls, () => runBatchTransaction(notes))
  }
  while (sent === 0) assert.equal((await calling.proxy()).status, 200)
  const calls: (() => Promise<number>)[] = []
  const grantIds: string[] = []
  for (let index = 0; index < count; index++) {
    const { agentId, token } = await service.registerAgent()
    const allowedHosts = [upstream.host]
    const { grantId } = await insertGrant(service, { agentId, userId, connectionId, allowedHosts, ...terms })
    grantIds.push(grantId)
    const body = { grant_id: grantId, method: 'GET', url: upstream.url }
    calls.push(async () => (await service.call('POST', '/v4/proxy', { token, body })).status)
  }
  return {
    ...calling,
    callByAll: () => Promise.all(calls.map((call) => call())),
    grantIds,
    sent: () => sent,
    around: async (commits, work) => {
      around = commits
      try {
        return await work()
      } finally {
        around = undefined
      }
    },
    callsOf: async (grantId) => {
      const query = queries.selectFrom('grant_usage').select('calls').where('grant_id', '=', grantId)
      return (await query.executeTakeFirstOrThrow()).calls
    },
    attempts: async (grantId) =>
      (await recorded(service, 'proxy.attempt')).filter((one) => one.grant_id === grantId).length,
    assertIntact: async () => {
      const key = await createAuditKeyStore(service.vault).find(queries)
      assert.ok(key)
      const parts = { chains: auditChainStore, onProgress: () => undefined }
      assert.deepEqual((await verifyAudit({ database, key, ...parts })).findings, [])
    },
  }
}

onBothDatabases('calls of the service that are recorded in one step', (engine) => {
  test('concurrent calls are counted and recorded', async (t) => {
    const { callByAll, grantIds, sent, callsOf, attempts, assertIntact } = await startCrowd(t, engine, 16)
    const before = sent()
    assert.deepEqual(new Set(await callByAll()), new Set([200]))
    assert.ok(sent() > before)
    for (const grantId of grantIds) assert.deepEqual([await callsOf(grantId), await attempts(grantId)], [1, 1])
    await assertIntact()
  })

  test('only the revoked one is refused, and not recorded as an attempt', async (t) => {
    const crowd = await startCrowd(t, engine, 16)
    const { service, callByAll, grantIds, callsOf, attempts, assertIntact, upstream } = crowd
    const [revoked = '', ...others] = grantIds
    await callByAll()
    const received = upstream.received.length
    // It stood when it was judged, and the attempt finds it ended.
    const revoking: Around = async (commit) => {
      await grantStore.revoke(service.database.queries, revoked, 'user', service.clock.now())
      await commit()
    }
    assert.deepEqual(await crowd.around(revoking, callByAll), [403, ...others.map(() => 200)])
    assert.equal(upstream.received.length, received + others.length)
    assert.deepEqual([await callsOf(revoked), await attempts(revoked)], [1, 1])
    for (const grantId of others) assert.deepEqual([await callsOf(grantId), await attempts(grantId)], [2, 2])
    await assertIntact()
  })

  test('an exhausted grant delays others once, not with every call', async (t) => {
    const { callByAll, grantIds, callsOf, sent } = await startCrowd(t, engine, 1, { maxCalls: 1 })
    assert.deepEqual([await callByAll(), await callByAll()], [[200], [403]])
    const before = sent()
    assert.deepEqual([await callByAll(), await callByAll()], [[403], [403]])
    assert.equal(sent(), before)
    assert.equal(await callsOf(grantIds[0] ?? ''), 1)
  })

  for (const [kind, lost, status] of [
    ['without a response', 'Connection terminated unexpectedly', 503],
    ['with an unknown error', 'something else', 500],
  ] as const) {
    test(`a commit ${kind} ends its calls, each counted and recorded once, and starts a new chain`, (t) =>
      endsItsCalls(t, engine, lost, status))
  }
})

test('revoking and recording does not deadlock with waiting calls', async (t) => {
  const service = await startService(t, 'postgres')
  const { database, vault, clock } = service
  const { audit } = createStores({ database, vault, clock: clock.now })
  const proxy = await proxyTo(service, {}, { audit })
  let sent = 0
  const { runSingleStatement } = database
  database.runSingleStatement = (query) => {
    sent++
    return runSingleStatement(query)
  }
  while (!database.runSingleStatement(sql`select 1`.compile(database.queries))) await new Promise(setImmediate)
  await proxy.call()
  const before = sent
  let refused: Promise<void> | undefined
  const ending = database.transaction(async (tx) => {
    await grantStore.revoke(tx, proxy.grantId, 'user', clock.now())
    refused = assert.rejects(proxy.call(), { code: 'grant_revoked' })
    // By now the call has the chain, and waits for the grant.
    while (sent === before) await new Promise(setImmediate)
    await audit.append(tx, { event: 'grant.revoked', at: clock.now() })
  })
  await soon(ending)
  await soon(refused ?? Promise.reject(new Error('nobody called')))
  assert.equal((await recorded(service, 'proxy.attempt')).length, 1)
})

async function endsItsCalls(t: TestContext, engine: Engine, lost: string, status: number) {
  const crowd = await startCrowd(t, engine, 3)
  const { service, upstream, callByAll, grantIds, callsOf, attempts, assertIntact, sent, around } = crowd
  await callByAll()
  const reached = upstream.received.length
  // It has happened, and nobody hears of it.
  const losing: Around = async (commit) => {
    await commit()
    throw new Error(lost)
  }
  const before = sent()
  const statuses = await around(losing, callByAll)
  assert.ok(sent() > before)
  // Those that did not share the commit hang on the new chain.
  const others = statuses.filter((one) => one !== status)
  assert.ok(others.length < 3 && others.every((one) => one === 200), String(statuses))
  assert.equal(upstream.received.length, reached + others.length)
  assert.deepEqual(await callByAll(), [200, 200, 200])
  for (const grantId of grantIds) assert.deepEqual([await callsOf(grantId), await attempts(grantId)], [3, 3])
  const { queries } = service.database
  const { rows } = await sql`select distinct chain from audit_records where chain is not null`.execute(queries)
  assert.ok(rows.length >= 2)
  await assertIntact()
}

test('connections that an operator terminates are reopened', async (t) => {
  const { service, callByAll, grantIds, callsOf, sent, assertIntact } = await startCrowd(t, 'postgres', 2)
  for (let round = 0; round < 3; round++) {
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`.execute(service.database.queries)
    await new Promise((resolve) => setTimeout(resolve, 50))
    const before = sent()
    let calls = 0
    while (sent() === before && calls++ < 200) assert.deepEqual(await callByAll(), [200, 200])
    assert.ok(sent() > before, 'the short way is not taken any more')
  }
  const [one = '', other = ''] = grantIds
  assert.equal(await callsOf(one), await callsOf(other))
  await assertIntact()
})

test('prepared statements that the server dropped are prepared again', async (t) => {
  const { service, callByAll, grantIds, callsOf, assertIntact } = await startCrowd(t, 'postgres', 4)
  const { database } = service
  await callByAll()
  assert.ok(database.runSingleStatement({ ...sql`discard all`.compile(database.queries), parameters: [] }))
  assert.deepEqual(await callByAll(), [200, 200, 200, 200])
  assert.deepEqual(await callByAll(), [200, 200, 200, 200])
  for (const grantId of grantIds) assert.equal(await callsOf(grantId), 3)
  await assertIntact()
})

test('counting a call reads no more with more grants', async (t) => {
  const others = 2_000
  const { service, callByAll, grantIds } = await startCrowd(t, 'postgres', 4)
  const { queries } = service.database
  const [like = ''] = grantIds
  await sql`
    insert into grants
    select (jsonb_populate_record(one, jsonb_build_object('grant_id', 'grt_' || number))).*
    from grants one cross join generate_series(1, ${sql.lit(others)}) number where grant_id = ${like}`.execute(queries)
  await sql`
    insert into grant_usage (grant_id, calls, is_open)
    select grant_id, 0, 1 from grants where grant_id not in (select grant_id from grant_usage)`.execute(queries)
  const rowsRead = async () => {
    // The server sums up what a connection has read once a second, at the end of a statement.
    await sleep(1_100)
    assert.deepEqual(await callByAll(), [200, 200, 200, 200])
    const { rows } = await sql<{ sum: number }>`
      select cast(sum(idx_tup_read) as bigint) as sum from pg_stat_user_indexes where relname = 'grant_usage'
    `.execute(queries)
    return Number(rows[0]?.sum)
  }
  const before = await rowsRead()
  assert.deepEqual(await callByAll(), [200, 200, 200, 200])
  assert.ok((await rowsRead()) - before < others)
})
