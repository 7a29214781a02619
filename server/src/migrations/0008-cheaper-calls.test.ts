import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { fixedClock } from '../../testkit/clock.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { emptyDatabase } from '../../testkit/open-database.ts'
import { auditListStore } from '../call-log/audit-list-store.ts'
import { grantStore } from '../grants/grant-store.ts'
import { cheaperCalls } from './0008-cheaper-calls.ts'
import { migrate, migrations } from './migrations.ts'

const clock = fixedClock().now

onBothDatabases('cheaper calls', (engine) => {
  test('earlier counts and records are kept and continue', async (t) => {
    const database = (await emptyDatabase(t, engine))()
    const { queries } = database
    await migrate(database, clock, migrations.slice(0, cheaperCalls.number - 1))
    const [hash, other] = [Buffer.from('1'), Buffer.from('2')]
    await sql`insert into agents (agent_id, name, owner_user_id, metadata, token_hash, created_at)
      values ('agt_a', 'a', 'self-registered', '{}', ${hash}, 1), ('agt_b', 'b', 'self-registered', '{}', ${other}, 1)`.execute(
      queries,
    )
    await sql`insert into grants (grant_id, agent_id, kind, allowed_hosts, created_at, revoked_at, calls, last_used_at,
      max_calls) values ('grt_live', 'agt_a', 'sandbox', '[]', 1, null, 7, 5, 8),
      ('grt_new', 'agt_a', 'sandbox', '[]', 1, null, 0, null, null),
      ('grt_revoked', 'agt_b', 'sandbox', '[]', 1, 4, 3, 3, null)`.execute(queries)
    const put = (id: string, event: string, agentId: string | null, userId: string | null) =>
      sql`insert into audit_records (audit_id, event, at, agent_id, user_id, detail)
        values (${id}, ${event}, 1, ${agentId}, ${userId}, '{}')`.execute(queries)
    await put('aud_1', 'proxy.attempt', 'agt_a', 'usr_a')
    await put('aud_1', 'proxy.outcome', 'agt_a', 'usr_a')
    await put('aud_2', 'proxy.attempt', 'agt_a', null)
    await put('aud_3', 'session.started', null, 'usr_a')
    await put('aud_4', 'proxy.attempt', 'agt_a', 'usr_b')
    await put('aud_5', 'proxy.attempt', 'agt_b', 'usr_a')

    assert.deepEqual(await migrate(database, clock), migrations.slice(cheaperCalls.number - 1))
    const usage = await queries.selectFrom('grant_usage').selectAll().orderBy('grant_id').execute()
    assert.deepEqual(
      usage.map(({ grant_id, calls, last_used_at, is_open }) => [grant_id, calls, last_used_at, is_open]),
      [
        ['grt_live', 7, 5, 1],
        ['grt_new', 0, null, 1],
        ['grt_revoked', 3, 3, 0],
      ],
    )
    const judged = ['grt_live', 'grt_live', 'grt_new', 'grt_revoked'].map((grantId) => ({ grantId, termsVersion: 1 }))
    const counted = await database.transaction((tx) => grantStore.countCalls(tx, judged, clock()))
    assert.deepEqual(counted, [true, false, true, false])
    const ids = async (scope: { agentId: string } | { userId: string }) =>
      (await auditListStore.list(queries, scope, {}, { limit: 9, before: undefined })).records.map(
        (one) => one.audit_id,
      )
    assert.deepEqual(await ids({ agentId: 'agt_a' }), ['aud_4', 'aud_2', 'aud_1'])
    assert.deepEqual(await ids({ agentId: 'agt_b' }), ['aud_5'])
    assert.deepEqual(await ids({ userId: 'usr_a' }), ['aud_5', 'aud_3', 'aud_1'])
    assert.deepEqual(await ids({ userId: 'usr_b' }), ['aud_4'])
  })
})
