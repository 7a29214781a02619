import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { sql } from 'kysely'
import { fixedClock } from '../../../testkit/clock.ts'
import { boxContent, sealedBoxes } from '../../../testkit/sealed-boxes.ts'
import type { Database } from '../database/database.ts'
import { newMasterKey } from './master-keys.ts'
import { rotateKeys } from './rotate.ts'

async function column(database: Database, query: string): Promise<Buffer[]> {
  const { rows } = await sql.raw<{ bytes: Uint8Array }>(query).execute(database.queries)
  return rows.map(({ bytes }) => Buffer.from(bytes))
}

async function filesOf(database: Database): Promise<Buffer[]> {
  const { rows } = await sql.raw<{ file: string }>('pragma database_list').execute(database.queries)
  const folder = dirname(rows[0]?.file ?? '')
  return readdirSync(folder).map((name) => readFileSync(join(folder, name)))
}

test('after a rotation, the database files hold nothing that the old master key decrypts', async (t) => {
  const boxes = await sealedBoxes(t, 'sqlite')
  const vault = await boxes.openVault()
  for (let box = 0; box < 250; box++) await boxes.put(vault, `box ${box}`, `token ${box}`)
  const database = boxes.open()
  const dataKeys = await column(database, 'select sealed_key as bytes from vault_keys')
  const values = await column(database, 'select content as bytes from boxes')
  const { source } = boxes
  const needs = { database, vault, source, sealedColumns: [boxContent], newMasterKey, clock: fixedClock().now }
  await rotateKeys({ ...needs, onProgress: () => undefined })
  const files = await filesOf(database)
  const left = (old: Buffer[]) => old.filter((bytes) => files.some((file) => file.includes(bytes))).length
  assert.deepEqual({ dataKeys: left(dataKeys), values: left(values) }, { dataKeys: 0, values: 0 })
})
