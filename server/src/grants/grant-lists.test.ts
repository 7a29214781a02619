import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { CompiledQuery, sql } from 'kysely'
import { startConnectionTest } from '../../testkit/connections.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { insertGrant } from '../../testkit/grants.ts'
import type { Engine, Queries } from '../platform/database/database.ts'
import type { Grant } from './grant.ts'
import { grantStore } from './grant-store.ts'

interface Listed {
  grant_id: string
  status: string
}

async function startLists(t: TestContext, engine: Engine) {
  const service = await startConnectionTest(t, engine)
  const { agentId, token } = await service.registerAgent()
  const { userId, token: userToken } = service.user
  const connectionId = await service.connect()
  const give = async (terms: Partial<Grant> = {}): Promise<string> => {
    service.clock.advance(1)
    return (await insertGrant(service, { agentId, userId, connectionId, ...terms })).grantId
  }
  const page = async (cursor: string | null, limit: number, reader = userToken) => {
    const query = `?limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`
    const { status, body, text } = await service.call('GET', `/v4/grants${query}`, { token: reader })
    assert.equal(status, 200, text)
    return body as { grants: Listed[]; next_cursor: string | null }
  }
  return {
    ...service,
    agentId,
    token,
    connectionId,
    give,
    page,
    revoke: (grantId: string) => service.call('POST', `/v4/grants/${grantId}/revoke`, { token: userToken }),
    /** All, page by page. `between` is called after each page with its number. */
    all: async (limit: number, reader?: string, between?: (pages: number) => Promise<unknown>) => {
      const seen: Listed[] = []
      let cursor: string | null = null
      for (let pages = 1; ; pages++) {
        const { grants, next_cursor: next }: Awaited<ReturnType<typeof page>> = await page(cursor, limit, reader)
        seen.push(...grants)
        if (next === null) return seen
        cursor = next
        await between?.(pages)
      }
    },
  }
}

const empty = {
  mode: 'allow_all' as const,
  exceptions: '[]',
  max_access: null,
  access_request_id: null,
  allowed_methods: null,
  allowed_paths: null,
  max_calls: null,
  expires_at: null,
  revoked_at: null,
  revoked_by: null,
  receipt: null,
}

const idsOf = (grants: readonly Listed[]) => grants.map(({ grant_id }) => grant_id)

onBothDatabases('lists of grants', (engine) => {
  test('active grants come first, then ended ones, newest first, with any page size', async (t) => {
    const { give, revoke, all, token, user, clock, connect, call, database } = await startLists(t, engine)
    const other = await connect(user, 'bob')
    const soon = new Date(clock.now().getTime() + 60_000)
    const oldest = await give()
    const expired = await give({ expiresAt: soon })
    const revoked = await give()
    const usedUp = await give({ maxCalls: 1 })
    const middle = await give({ expiresAt: new Date(clock.now().getTime() + 600_000) })
    const cutOff = await give({ connectionId: other })
    const newest = await give({ maxCalls: 2 })
    await revoke(revoked)
    const calls = { calls: 1, last_used_at: clock.now().getTime() }
    await database.queries.updateTable('grant_usage').set(calls).where('grant_id', 'in', [usedUp, newest]).execute()
    await call('DELETE', `/v4/connections/${other}`, { token: user.token })
    clock.advance(60)
    for (const reader of [user.token, token]) {
      for (const limit of [1, 2, 3, 4, 50]) {
        const listed = await all(limit, reader)
        assert.deepEqual(idsOf(listed), [newest, middle, oldest, cutOff, usedUp, revoked, expired], `${limit}`)
        assert.deepEqual(
          listed.map(({ status }) => status === 'active'),
          [true, true, true, false, false, false, false],
        )
      }
    }
  })

  const ends: Record<string, (lists: Awaited<ReturnType<typeof startLists>>, grantId: string) => Promise<unknown>> = {
    revoked: ({ revoke }, grantId) => revoke(grantId),
    expired: ({ clock }) => {
      clock.advance(3600)
      return Promise.resolve()
    },
    'used up': ({ database, clock }, grantId) =>
      database.transaction((tx) => grantStore.countCalls(tx, [{ grantId, termsVersion: 1 }], clock.now())),
    disconnected: ({ call, user, connectionId }) =>
      call('DELETE', `/v4/connections/${connectionId}`, { token: user.token }),
  }
  for (const [end, make] of Object.entries(ends)) {
    test(`a grant that is ${end} between two pages is neither skipped nor listed twice`, async (t) => {
      for (const place of [0, 1, 2, 3]) {
        const lists = await startLists(t, engine)
        const { give, revoke, all, clock } = lists
        const ended = [await give(), await give()]
        for (const grantId of ended) await revoke(grantId)
        const terms = end === 'expired' ? { expiresAt: new Date(clock.now().getTime() + 60_000) } : { maxCalls: 1 }
        const active = [await give(terms), await give(terms), await give(terms), await give(terms)]
        clock.advance(1)
        const expected = [...active.toReversed(), ...ended.toReversed()]
        const listed = await all(1, undefined, async (pages) => {
          clock.advance(1)
          if (pages === 2) await make(lists, expected[place] ?? '')
        })
        assert.deepEqual(idsOf(listed), expected, `the one at ${place}`)
      }
    })
  }

  test('a grant created between two pages is not on later ones', async (t) => {
    const { give, all } = await startLists(t, engine)
    const first = await give()
    const second = await give()
    const listed = await all(1, undefined, () => give())
    assert.deepEqual(idsOf(listed), [second, first])
  })

  test('a cursor of another form is refused', async (t) => {
    const { call, user, give } = await startLists(t, engine)
    const grantId = await give()
    for (const cursor of [
      grantId,
      `none.1.${grantId}`,
      `active.x.${grantId}`,
      'ended.1.grt_1',
      `active.1.${grantId}'`,
    ]) {
      const { status, body } = await call('GET', `/v4/grants?cursor=${encodeURIComponent(cursor)}`, {
        token: user.token,
      })
      assert.deepEqual([status, body.error?.field], [400, 'cursor'], cursor)
    }
  })

  test('a page does not read the many ended grants', async (t) => {
    const { agentId, user, connectionId, database, clock, registerAgent, logIn } = await startLists(t, engine)
    const other = { agentId: (await registerAgent()).agentId, userId: (await logIn({ email: 'b@example.com' })).userId }
    const now = clock.now()
    const rows = Array.from({ length: 4000 }, (_, index) => ({
      grant_id: `grt_${String(index).padStart(26, '0')}`,
      ...(index % 10 === 0
        ? { agent_id: agentId, user_id: user.userId }
        : { agent_id: other.agentId, user_id: other.userId }),
      connection_id: connectionId,
      kind: 'connection' as const,
      allowed_hosts: '[]',
      created_at: 1,
      // Five of this user's are active.
      ...(index % 800 === 0 ? {} : index % 20 === 0 ? { revoked_at: 5 } : { expires_at: 5 }),
      is_signed: 0,
    }))
    await database.transaction(async (tx) => {
      for (let start = 0; start < rows.length; start += 500) {
        const some = rows.slice(start, start + 500)
        await tx
          .insertInto('grants')
          .values(some.map((row) => ({ ...empty, ...row })))
          .execute()
        const usage = some.map(({ grant_id }) => ({
          grant_id,
          calls: 0,
          last_used_at: null,
          is_open: 1,
          terms_version: 1,
        }))
        await tx.insertInto('grant_usage').values(usage).execute()
      }
    })
    if (engine === 'postgres') await sql`analyze`.execute(database.queries)
    const wanted = { limit: 50, after: undefined, status: undefined, agentId: undefined, connectionId: undefined }
    for (const list of [
      (queries: Queries) => grantStore.listOfUser(queries, user.userId, wanted, now),
      (queries: Queries) => grantStore.listOfAgent(queries, agentId, wanted, now),
    ]) {
      const [active = '', ended = ''] = await plansOf(database.queries, engine, list)
      assert.match(active, /grants_by_(?:user|agent)_and_end/)
      for (const plan of [active, ended]) assert.doesNotMatch(plan, /Seq Scan on grants|SCAN grants/)
      // In order from an index: no more is read than the page holds.
      assert.doesNotMatch(ended, /TEMP B-TREE|Sort {2}/)
    }
  })
})

/** How the database would carry out each statement of a query. */
async function plansOf(queries: Queries, engine: Engine, work: (queries: Queries) => Promise<unknown>) {
  const statements: CompiledQuery[] = []
  const watched = queries.withPlugin({
    transformQuery: ({ node, queryId }) => {
      statements.push(queries.getExecutor().compileQuery(node, queryId))
      return node
    },
    transformResult: ({ result }) => Promise.resolve(result),
  })
  await work(watched)
  const explain = engine === 'sqlite' ? 'explain query plan ' : 'explain '
  const plans = []
  for (const query of statements) {
    const { rows } = await queries.executeQuery<object>(CompiledQuery.raw(explain + query.sql, [...query.parameters]))
    plans.push(rows.map((row) => JSON.stringify(row)).join('\n'))
  }
  return plans
}
