import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { fixedClock } from '../../testkit/clock.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { emptyDatabase } from '../../testkit/open-database.ts'
import { defaultTerms } from '../grants/grant.ts'
import { grantStore } from '../grants/grant-store.ts'
import { grantTerms } from './0015-grant-terms.ts'
import { migrate, migrations } from './migrations.ts'

const clock = fixedClock().now

onBothDatabases('grant terms', (engine) => {
  test('grants from before allow all calls', async (t) => {
    const database = (await emptyDatabase(t, engine))()
    const { queries } = database
    await migrate(database, clock, migrations.slice(0, grantTerms.number - 1))
    await sql`insert into agents (agent_id, name, owner_user_id, metadata, token_hash, created_at)
      values ('agt_a', 'a', 'self-registered', '{}', ${Buffer.from('1')}, 1)`.execute(queries)
    await sql`insert into grants (grant_id, agent_id, kind, allowed_hosts, created_at)
      values ('grt_a', 'agt_a', 'connection', '[]', 1)`.execute(queries)
    await sql`insert into grant_usage (grant_id, calls, is_open) values ('grt_a', 0, 1)`.execute(queries)
    await migrate(database, clock)
    const { mode, exceptions, maxAccess } = (await grantStore.findOfAgent(queries, 'agt_a', 'grt_a')) ?? {}
    assert.deepEqual({ mode, exceptions, maxAccess }, defaultTerms)
  })
})
