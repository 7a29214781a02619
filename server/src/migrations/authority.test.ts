import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { migratedDatabase } from '../../testkit/open-database.ts'
import type { Queries } from '../platform/database/database.ts'

const tables = ['agents', 'connections', 'grants', 'providers', 'tool_keys', 'users']

/** Written with every call, and read anew by the transaction that puts the call on record. */
const notes = ['connections.last_used_at', 'tool_keys.last_used_at']

async function texts(queries: Queries, query: ReturnType<typeof sql<{ text: string }>>): Promise<string[]> {
  return (await query.execute(queries)).rows.map(({ text }) => text)
}

test('a write to any column that affects access updates the change counter', async (t) => {
  const { queries } = (await migratedDatabase(t, 'postgres'))()
  const columns = await texts(
    queries,
    sql`select table_name || '.' || column_name as text from information_schema.columns
      where table_schema = current_schema() and table_name = any(${tables}) order by 1`,
  )
  const watched = await texts(
    queries,
    sql`select event_object_table || '.' || event_object_column as text
      from information_schema.triggered_update_columns order by 1`,
  )
  const whole = ['agents', 'providers', 'users']
  const expected = columns.filter((name) => !notes.includes(name) && !whole.includes(name.split('.')[0] ?? ''))
  assert.deepEqual(watched.sort(), expected.sort())
  const triggers = await texts(
    queries,
    sql`select event_object_table || ' ' || event_manipulation as text from information_schema.triggers order by 1`,
  )
  const pauses = ['pauses DELETE', 'pauses INSERT', 'pauses UPDATE']
  assert.deepEqual(
    triggers.sort(),
    [...tables.flatMap((table) => [`${table} DELETE`, `${table} UPDATE`]), ...pauses].sort(),
  )
})

test('the change counter increases once per commit, and not for per-call writes', async (t) => {
  const database = (await migratedDatabase(t, 'postgres'))()
  const { queries } = database
  const lastChange = async () => texts(queries, sql`select last_change::text as text from authority`)
  await queries.insertInto('users').values({ user_id: 'a', created_at: 0, requires_device: 0 }).execute()
  const before = await lastChange()
  await database.transaction(async (tx) => {
    await tx.updateTable('users').set({ name: 'Ada' }).execute()
    await tx.updateTable('users').set({ name: 'Ada Lovelace' }).execute()
    assert.deepEqual(await lastChange(), before)
  })
  const after = await lastChange()
  assert.notDeepEqual(after, before)
  await queries.updateTable('grant_usage').set({ calls: 1, last_used_at: 1 }).execute()
  await queries.updateTable('connections').set({ last_used_at: 1 }).execute()
  assert.deepEqual(await lastChange(), after)
  await queries.deleteFrom('users').execute()
  assert.notDeepEqual(await lastChange(), after)
})

test("concurrent changes of different rows wait only for each other's commit", async (t) => {
  const database = (await migratedDatabase(t, 'postgres'))()
  for (const id of ['a', 'b']) {
    await database.queries.insertInto('users').values({ user_id: id, created_at: 0, requires_device: 0 }).execute()
  }
  const set = (tx: Queries, id: string) => tx.updateTable('users').set({ name: id }).where('user_id', '=', id).execute()
  await database.transaction(async (tx) => {
    await set(tx, 'a')
    // If it waited for the other, neither would ever commit.
    await database.transaction((other) => set(other, 'b'))
  })
})
