import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KyselyPlugin } from 'kysely'
import { startAccessTest } from '../../testkit/access-requests.ts'
import { onBothDatabases } from '../../testkit/databases.ts'
import { agentStore } from '../agents/agent-store.ts'
import type { Database } from '../platform/database/database.ts'
import type { AuditWriter } from '../audit/audit-log.ts'
import { createStores } from '../stores.ts'
import { createAccessRequest } from './create.ts'

onBothDatabases('hints', (engine) => {
  test('creation runs the same queries for a known, a disabled and an unknown user', async (t) => {
    const { config, database, vault, egress, clock, agent, user, logIn, call, adminToken } = await startAccessTest(
      t,
      engine,
    )
    const gone = await logIn({ email: 'gone@example.com' })
    await call('POST', `/v4/users/${gone.userId}/disable`, { token: adminToken })
    const asking = await agentStore.find(database.queries, agent.agentId)
    assert.ok(asking)
    let kinds: string[] = []
    const watch: KyselyPlugin = {
      transformQuery: ({ node }) => {
        kinds.push(node.kind)
        return node
      },
      transformResult: ({ result }) => Promise.resolve(result),
    }
    const stores = createStores({ database, vault, clock: clock.now })
    let transaction = database.queries
    const watched: Database = {
      ...database,
      transaction: (work) =>
        database.transaction((tx) => {
          transaction = tx
          return work(tx.withPlugin(watch))
        }),
    }
    const audit: AuditWriter = {
      append: (_watched, record) => {
        kinds.push('record')
        return stores.audit.append(transaction, record)
      },
    }
    const openSandbox = () => Promise.reject(new Error('no sandbox was asked for'))
    const needs = { config, database: watched, egress, clock: clock.now, ...stores, audit, openSandbox }
    const nothing = { hosts: undefined, methods: undefined, paths: undefined, maxCalls: undefined, reason: undefined }
    const queriesFor = async (userHint: string): Promise<string[]> => {
      // Each hint is asked for the first time in its hour.
      clock.advance(3600)
      kinds = []
      await createAccessRequest(
        needs,
        asking,
        { ...nothing, provider: 'acme', userHint, callbackUrl: undefined },
        'req_1',
      )
      return kinds
    }
    const expected = await queriesFor('nobody@example.com')
    assert.ok(expected.length > 5, 'they are counted')
    for (const hint of [
      user.userId,
      'ada@example.com',
      'ADA@example.com',
      gone.userId,
      'gone@example.com',
      'usr_none',
    ]) {
      assert.deepEqual(await queriesFor(hint), expected, hint)
    }
  })
})
