import { sql } from 'kysely'
import { isOver, isRevoked } from '../grants/grant-foundation-store.ts'
import { deleteBatch } from '../platform/database/batches.ts'
import type { Queries } from '../platform/database/database.ts'
import { pageOf } from '../platform/database/paging.ts'
import type { Page, PageRequest } from '../platform/database/paging.ts'
import { Secret } from '../platform/secret.ts'
import type { SealedColumn, Vault } from '../platform/vault/vault.ts'
import type { Repeat, RepeatedCall } from './repeat.ts'

interface Row {
  repeat_id: string
  agent_id: string
  user_id: string
  grant_id: string
  /** The call that was approved. */
  call_id: string
  match_hash: string
  shown: Uint8Array
  shown_key_id: string
  calls_left: number
  created_at: number
  expires_at: number
  revoked_at: number | null
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    call_repeats: Row
  }
}

export const repeatShown: SealedColumn = {
  table: 'call_repeats',
  column: 'shown',
  rowColumn: 'repeat_id',
  ownerColumn: 'user_id',
}

export function createRepeatStore(vault: Vault) {
  const toRepeat = async (queries: Queries, row: Row): Promise<Repeat> => {
    const sealed = { bytes: row.shown, keyId: row.shown_key_id }
    const shown = await vault.open(queries, repeatShown, { row: row.repeat_id, owner: row.user_id }, sealed)
    return {
      repeatId: row.repeat_id,
      agentId: row.agent_id,
      userId: row.user_id,
      grantId: row.grant_id,
      callId: row.call_id,
      shown: JSON.parse(shown.reveal()) as RepeatedCall,
      callsLeft: row.calls_left,
      createdAt: new Date(row.created_at),
      expiresAt: new Date(row.expires_at),
    }
  }

  return {
    insert: async (tx: Queries, repeat: Repeat, matchHash: string): Promise<void> => {
      const place = { row: repeat.repeatId, owner: repeat.userId }
      const { bytes, keyId } = await vault.seal(tx, repeatShown, place, new Secret(JSON.stringify(repeat.shown)))
      await tx
        .insertInto('call_repeats')
        .values({
          repeat_id: repeat.repeatId,
          agent_id: repeat.agentId,
          user_id: repeat.userId,
          grant_id: repeat.grantId,
          call_id: repeat.callId,
          match_hash: matchHash,
          shown: bytes,
          shown_key_id: keyId,
          calls_left: repeat.callsLeft,
          created_at: repeat.createdAt.getTime(),
          expires_at: repeat.expiresAt.getTime(),
          revoked_at: null,
        })
        .execute()
    },

    /** The id of one that covers calls with this hash. */
    findFor: async (queries: Queries, matchHash: string, now: Date): Promise<string | undefined> => {
      const row = await queries
        .selectFrom('call_repeats')
        .select('repeat_id')
        .where('match_hash', '=', matchHash)
        .where('expires_at', '>', now.getTime())
        .where('calls_left', '>', 0)
        .where('revoked_at', 'is', null)
        .limit(1)
        .executeTakeFirst()
      return row?.repeat_id
    },

    /** Takes one of its calls, in one conditional write. False if there is none left. */
    use: async (tx: Queries, repeatId: string, now: Date): Promise<boolean> => {
      const row = await tx
        .updateTable('call_repeats')
        .set((eb) => ({ calls_left: eb('calls_left', '-', 1) }))
        .where('repeat_id', '=', repeatId)
        .where('expires_at', '>', now.getTime())
        .where('calls_left', '>', 0)
        .where('revoked_at', 'is', null)
        .returning('repeat_id')
        .executeTakeFirst()
      return row !== undefined
    },

    /** Those that still allow calls. */
    list: async (queries: Queries, userId: string, page: PageRequest, now: Date): Promise<Page<Repeat>> => {
      const rows = await queries
        .selectFrom('call_repeats')
        .innerJoin('grants', 'grants.grant_id', 'call_repeats.grant_id')
        .innerJoin('grant_usage', 'grant_usage.grant_id', 'grants.grant_id')
        .innerJoin('agents', 'agents.agent_id', 'call_repeats.agent_id')
        .leftJoin('connections', 'connections.connection_id', 'grants.connection_id')
        .leftJoin('users', 'users.user_id', 'grants.user_id')
        .selectAll('call_repeats')
        .where('call_repeats.user_id', '=', userId)
        .where('call_repeats.expires_at', '>', now.getTime())
        .where('call_repeats.calls_left', '>', 0)
        .where('call_repeats.revoked_at', 'is', null)
        .where('agents.disabled_at', 'is', null)
        .where(sql<boolean>`not ${isRevoked}`)
        .where(sql<boolean>`not ${isOver(now)}`)
        .$if(page.before !== undefined, (query) => query.where('repeat_id', '<', page.before ?? ''))
        .orderBy('repeat_id', 'desc')
        .limit(page.limit + 1)
        .execute()
      const repeats = await Promise.all(rows.map((row) => toRepeat(queries, row)))
      return pageOf(repeats, page.limit, ({ repeatId }) => repeatId)
    },

    /** Undefined if there is no such one of this user that allows calls. */
    revoke: async (tx: Queries, userId: string, repeatId: string, now: Date): Promise<Repeat | undefined> => {
      const row = await tx
        .updateTable('call_repeats')
        .set({ revoked_at: now.getTime() })
        .where('repeat_id', '=', repeatId)
        .where('user_id', '=', userId)
        .where('expires_at', '>', now.getTime())
        .where('revoked_at', 'is', null)
        .returningAll()
        .executeTakeFirst()
      return row && toRepeat(tx, row)
    },

    /** Deletes a batch; returns how many. */
    dropExpired: (tx: Queries, now: Date): Promise<number> =>
      deleteBatch(tx, 'call_repeats', 'repeat_id', sql`expires_at <= ${now.getTime()}`),
  }
}

export type RepeatStore = ReturnType<typeof createRepeatStore>
