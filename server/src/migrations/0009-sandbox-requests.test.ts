import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { fixedClock } from '../../testkit/clock.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { emptyDatabase } from '../../testkit/open-database.ts'
import { accessRequestStore } from '../access-requests/access-request-store.ts'
import { sandboxRequests } from './0009-sandbox-requests.ts'
import { migrate, migrations } from './migrations.ts'

const clock = fixedClock().now

onBothDatabases('sandbox requests', (engine) => {
  test('access requests keep their provider and their grants, and one without a provider can be added', async (t) => {
    const database = (await emptyDatabase(t, engine))()
    const { queries } = database
    await migrate(database, clock, migrations.slice(0, sandboxRequests.number - 1))
    await sql`insert into agents (agent_id, name, owner_user_id, metadata, token_hash, created_at)
      values ('agt_a', 'a', 'self-registered', '{}', ${Buffer.from('1')}, 1)`.execute(queries)
    await sql`insert into providers (provider_id, slug, name, source, status, metadata, scopes, api_hosts, auth_method,
      authorization_params, injection, allow_range, created_at, updated_at)
      values ('prv_a', 'acme', 'Acme', 'admin', 'active', '{}', '[]', '[]', 'none', '{}', '{}', 0, 1, 1)`.execute(
      queries,
    )
    const insert = (id: string, providerId: string | null) =>
      sql`insert into access_requests (access_request_id, agent_id, provider_id, status, created_at, expires_at)
        values (${id}, 'agt_a', ${providerId}, 'pending', 1, 2)`.execute(queries)
    await insert('arq_a', 'prv_a')
    await sql`insert into grants (grant_id, agent_id, kind, allowed_hosts, created_at, access_request_id)
      values ('grt_a', 'agt_a', 'connection', '[]', 1, 'arq_a')`.execute(queries)
    await sql`update access_requests set grant_id = 'grt_a'`.execute(queries)
    await assert.rejects(insert('arq_b', null))

    await migrate(database, clock)
    const kept = await accessRequestStore.find(queries, 'arq_a')
    assert.deepEqual([kept?.providerId, kept?.grantId], ['prv_a', 'grt_a'])
    await insert('arq_b', null)
    assert.equal((await accessRequestStore.find(queries, 'arq_b'))?.providerId, null)
    await assert.rejects(insert('arq_c', 'prv_nobody'), 'the provider is still a foreign key')
    await assert.rejects(accessRequestStore.drop(queries, ['arq_a']), 'its grant refers to it')
  })
})
