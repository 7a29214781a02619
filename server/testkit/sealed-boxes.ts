/** A table of encrypted values, and master keys in a file, for tests of key rotation. */
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { sql } from 'kysely'
import type { Database, Engine } from '../src/platform/database/database.ts'
import { Secret } from '../src/platform/secret.ts'
import { readOrMakeSecretFile, replaceSecretFile } from '../src/platform/vault/key-files.ts'
import { formatMasterKeys, newMasterKey, parseMasterKeys } from '../src/platform/vault/master-keys.ts'
import type { MasterKey } from '../src/platform/vault/master-keys.ts'
import { openVault } from '../src/platform/vault/vault.ts'
import type { SealedColumn, Vault } from '../src/platform/vault/vault.ts'
import { fixedClock } from './clock.ts'
import { temporaryFolder } from './databases.ts'
import { migratedDatabase } from './open-database.ts'

export const boxContent: SealedColumn = {
  table: 'boxes',
  column: 'content',
  rowColumn: 'box_id',
  ownerColumn: 'owner_id',
}

const ownerOf = (box: string) => `owner of ${box}`

export interface SealedBoxes {
  open: () => Database
  source: { read: () => MasterKey[]; write: (keys: MasterKey[]) => void }
  openVault: (readMasterKeys?: () => MasterKey[] | Promise<MasterKey[]>) => Promise<Vault>
  put: (vault: Vault, box: string, text: string, database?: Database) => Promise<void>
  /** The decrypted content of every box. */
  contents: (vault: Vault) => Promise<Record<string, string>>
}

export async function sealedBoxes(t: Pick<TestContext, 'after'>, engine: Engine): Promise<SealedBoxes> {
  const open = await migratedDatabase(t, engine)
  const database = open()
  const bytes = sql.raw(engine === 'sqlite' ? 'blob' : 'bytea')
  await sql`create table boxes (
    box_id text primary key, owner_id text not null,
    content ${bytes} not null, content_key_id text not null references vault_keys
  )`.execute(database.queries)
  const file = join(temporaryFolder(t), 'master-key')
  const source = {
    read: () => parseMasterKeys(readOrMakeSecretFile(file, () => newMasterKey().text)),
    write: (keys: MasterKey[]) => {
      replaceSecretFile(file, formatMasterKeys(keys))
    },
  }
  return {
    open,
    source,
    openVault: (readMasterKeys = source.read) =>
      openVault({ database: open(), readMasterKeys, clock: fixedClock().now }),
    put: (vault, box, text, within = database) =>
      within.transaction(async (tx) => {
        const place = { row: box, owner: ownerOf(box) }
        const { bytes: content, keyId } = await vault.seal(tx, boxContent, place, new Secret(text))
        await sql`insert into boxes values (${box}, ${place.owner}, ${content}, ${keyId})
          on conflict (box_id) do update set content = ${content}, content_key_id = ${keyId}`.execute(tx)
      }),
    contents: async (vault) => {
      const { rows } = await sql<{ box_id: string; owner_id: string; content: Uint8Array; content_key_id: string }>`
        select * from boxes`.execute(database.queries)
      const entries = rows.map(async ({ box_id: row, owner_id: owner, content, content_key_id: keyId }) => {
        const secret = await vault.open(database.queries, boxContent, { row, owner }, { bytes: content, keyId })
        return [row, secret.reveal()] as const
      })
      return Object.fromEntries(await Promise.all(entries))
    },
  }
}
