import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { onBothDatabases } from '../../testkit/databases.ts'
import { startService } from '../../testkit/service.ts'
import type { Engine, Queries } from '../platform/database/database.ts'
import { newId } from '../platform/ids.ts'
import { auditTailStore } from './audit-tail-store.ts'
import { createRecordFollower } from './follow-record.ts'

async function startFollowing(t: TestContext, engine: Engine) {
  const service = await startService(t, engine)
  const { database, clock } = service
  const follower = createRecordFollower({ database, auditTail: auditTailStore, clock: clock.now })
  const put = async (queries: Queries, ...userIds: string[]) => {
    const at = clock.now()
    const rows = userIds.map((user_id) => ({ audit_id: newId('aud', at), event: 'session.started', user_id }))
    const rest = { at: at.getTime(), request_id: null, agent_id: null, grant_id: null, connection_id: null }
    const more = { provider: null, outcome: null, detail: '{}', chain: null, position: null, hash: null, mac: null }
    await queries
      .insertInto('audit_records')
      .values(rows.map((row) => ({ ...row, ...rest, ...more })))
      .execute()
  }
  const next = async () => {
    const came = await follower.next()
    return came === 'too_much' ? came : came.map(({ userId }) => userId)
  }
  return { ...service, follower, put, next }
}

onBothDatabases('the end of the record', (engine) => {
  test('returns each record once, from the start on', async (t) => {
    const { database, follower, put, next } = await startFollowing(t, engine)
    await put(database.queries, 'before')
    await follower.start()
    assert.deepEqual(await next(), [])
    await put(database.queries, 'a', 'b')
    assert.deepEqual(await next(), ['a', 'b'])
    await put(database.queries, 'c')
    assert.deepEqual(await next(), ['c'])
    assert.deepEqual(await next(), [])
  })

  test('that grew by more than one step reads reports that and continues at its end', async (t) => {
    const { database, follower, put, next } = await startFollowing(t, engine)
    await follower.start()
    for (let times = 0; times < 21; times++) {
      await put(database.queries, ...Array.from({ length: 100 }, (_, index) => `${times}-${index}`))
    }
    assert.equal(await next(), 'too_much')
    await put(database.queries, 'after')
    assert.deepEqual(await next(), ['after'])
  })
})

/** On SQLite one transaction writes at a time, so that numbers come in the order of the commits. */
test('a record that is committed late is returned late, even if begun before the start', async (t) => {
  const { database, clock, follower, put, next } = await startFollowing(t, 'postgres')
  const begin = async (userId: string) => {
    const written = Promise.withResolvers<undefined>()
    const mayEnd = Promise.withResolvers<undefined>()
    const done = database.queries.transaction().execute(async (tx) => {
      await put(tx, userId)
      written.resolve(undefined)
      await mayEnd.promise
    })
    await written.promise
    return {
      commit: async () => {
        mayEnd.resolve(undefined)
        await done
      },
      undo: async () => {
        mayEnd.reject(new Error('undone'))
        await assert.rejects(done, /undone/)
      },
    }
  }
  const early = await begin('early')
  await put(database.queries, 'quick')
  await follower.start()
  const late = await begin('late')
  const lost = await begin('lost')
  await put(database.queries, 'a')
  assert.deepEqual(await next(), ['a'])
  await late.commit()
  await lost.undo()
  assert.deepEqual(await next(), ['late'])
  await early.commit()
  assert.deepEqual(await next(), ['early'])
  clock.advance(60)
  await put(database.queries, 'b')
  assert.deepEqual(await next(), ['b'])
  assert.deepEqual(await next(), [])
})
