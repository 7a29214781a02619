import { sql } from 'kysely'
import { deleteBatch } from '../platform/database/batches.ts'
import type { Queries } from '../platform/database/database.ts'

interface LoginTokenRow {
  token_hash: Uint8Array
  user_id: string
  created_at: number
  expires_at: number
  used_at: number | null
  is_operator: number
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    login_tokens: LoginTokenRow
  }
}

interface LoginToken {
  tokenHash: Uint8Array
  userId: string
  createdAt: Date
  expiresAt: Date
  /** Its session may act as the operator. */
  isOperator: boolean
}

export const loginTokenStore = {
  insert: async (tx: Queries, token: LoginToken): Promise<void> => {
    await tx
      .insertInto('login_tokens')
      .values({
        token_hash: token.tokenHash,
        user_id: token.userId,
        created_at: token.createdAt.getTime(),
        expires_at: token.expiresAt.getTime(),
        used_at: null,
        is_operator: token.isOperator ? 1 : 0,
      })
      .execute()
  },

  findUsable: async (
    queries: Queries,
    tokenHash: Uint8Array,
    now: Date,
  ): Promise<{ userId: string; expiresAt: Date } | undefined> => {
    const row = await queries
      .selectFrom('login_tokens')
      .select(['user_id', 'expires_at'])
      .where('token_hash', '=', tokenHash)
      .where('used_at', 'is', null)
      .where('expires_at', '>', now.getTime())
      .executeTakeFirst()
    return row && { userId: row.user_id, expiresAt: new Date(row.expires_at) }
  },

  /** One conditional write: of several concurrent attempts, only one gets the user. */
  consume: async (
    tx: Queries,
    tokenHash: Uint8Array,
    now: Date,
  ): Promise<{ userId: string; isOperator: boolean } | undefined> => {
    const row = await tx
      .updateTable('login_tokens')
      .set({ used_at: now.getTime() })
      .where('token_hash', '=', tokenHash)
      .where('used_at', 'is', null)
      .where('expires_at', '>', now.getTime())
      .returning(['user_id', 'is_operator'])
      .executeTakeFirst()
    return row && { userId: row.user_id, isOperator: row.is_operator === 1 }
  },

  dropUnused: async (tx: Queries, userId: string): Promise<void> => {
    await tx.deleteFrom('login_tokens').where('user_id', '=', userId).where('used_at', 'is', null).execute()
  },

  dropExpired: (queries: Queries, now: Date): Promise<number> =>
    deleteBatch(queries, 'login_tokens', 'token_hash', sql`expires_at < ${now.getTime()}`),
}

export type LoginTokenStore = typeof loginTokenStore
