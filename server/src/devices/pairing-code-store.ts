import { sql } from 'kysely'
import { deleteBatch } from '../platform/database/batches.ts'
import type { Queries } from '../platform/database/database.ts'
import { fromTime } from '../platform/database/times.ts'
import type { PairingCode } from './pairing-code.ts'

interface PairingCodeRow {
  code_hash: Uint8Array
  user_id: string
  created_at: number
  expires_at: number
  used_at: number | null
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    pairing_codes: PairingCodeRow
  }
}

export const pairingCodeStore = {
  insert: async (tx: Queries, code: PairingCode, codeHash: Uint8Array): Promise<void> => {
    await tx
      .insertInto('pairing_codes')
      .values({
        code_hash: codeHash,
        user_id: code.userId,
        created_at: code.createdAt.getTime(),
        expires_at: code.expiresAt.getTime(),
        used_at: null,
      })
      .execute()
  },

  find: async (queries: Queries, codeHash: Uint8Array): Promise<PairingCode | undefined> => {
    const row = await queries
      .selectFrom('pairing_codes')
      .selectAll()
      .where('code_hash', '=', codeHash)
      .executeTakeFirst()
    return (
      row && {
        userId: row.user_id,
        createdAt: new Date(row.created_at),
        expiresAt: new Date(row.expires_at),
        usedAt: fromTime(row.used_at),
      }
    )
  },

  /** One conditional write: of several concurrent calls, one gets true. */
  consume: async (tx: Queries, codeHash: Uint8Array, now: Date): Promise<boolean> => {
    const row = await tx
      .updateTable('pairing_codes')
      .set({ used_at: now.getTime() })
      .where('code_hash', '=', codeHash)
      .where('used_at', 'is', null)
      .where('expires_at', '>', now.getTime())
      .returning('user_id')
      .executeTakeFirst()
    return row !== undefined
  },

  /** Someone with a session may have read them, so they end with the user's sessions. */
  dropUnused: async (tx: Queries, userId: string): Promise<void> => {
    await tx.deleteFrom('pairing_codes').where('user_id', '=', userId).where('used_at', 'is', null).execute()
  },

  dropExpiredBefore: (queries: Queries, before: Date): Promise<number> =>
    deleteBatch(queries, 'pairing_codes', 'code_hash', sql`expires_at < ${before.getTime()}`),
}

export type PairingCodeStore = typeof pairingCodeStore
