import { sql } from 'kysely'
import type {} from '../grants/grant-store.ts'
import { deleteBatch } from '../platform/database/batches.ts'
import type { Queries } from '../platform/database/database.ts'
import type { Secret } from '../platform/secret.ts'
import type { SealedColumn, Vault } from '../platform/vault/vault.ts'

declare module '../platform/database/tables.ts' {
  interface Tables {
    sandboxes: {
      agent_id: string
      grant_id: string
      token: Uint8Array
      token_key_id: string
    }
  }
}

export const sandboxToken: SealedColumn = {
  table: 'sandboxes',
  column: 'token',
  rowColumn: 'grant_id',
  ownerColumn: 'agent_id',
}

/** Stores the token of a sandbox grant, in place of a connection. The token is worthless but sealed like a real one. */
export function createSandboxStore(vault: Vault) {
  return {
    /** One sandbox per agent: a new one replaces the old one. Concurrent calls wait for each other. */
    put: async (tx: Queries, agentId: string, grantId: string, token: Secret): Promise<void> => {
      const { bytes, keyId } = await vault.seal(tx, sandboxToken, { row: grantId, owner: agentId }, token)
      const values = { grant_id: grantId, token: bytes, token_key_id: keyId }
      await tx
        .insertInto('sandboxes')
        .values({ agent_id: agentId, ...values })
        .onConflict((conflict) => conflict.column('agent_id').doUpdateSet(values))
        .execute()
    },

    tokenOf: async (queries: Queries, agentId: string, grantId: string): Promise<Secret | undefined> => {
      const row = await queries
        .selectFrom('sandboxes')
        .select(['token', 'token_key_id'])
        .where('agent_id', '=', agentId)
        .where('grant_id', '=', grantId)
        .executeTakeFirst()
      const place = { row: grantId, owner: agentId }
      return row && vault.open(queries, sandboxToken, place, { bytes: row.token, keyId: row.token_key_id })
    },

    dropEndedBefore: (tx: Queries, before: Date): Promise<number> => {
      const ended = sql`select grant_id from grants where kind = 'sandbox' and expires_at < ${before.getTime()}`
      return deleteBatch(tx, 'sandboxes', 'agent_id', sql`grant_id in (${ended})`)
    },
  }
}

export type SandboxStore = ReturnType<typeof createSandboxStore>
