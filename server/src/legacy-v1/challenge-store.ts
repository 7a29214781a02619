import { sql } from 'kysely'
import { deleteBatch } from '../platform/database/batches.ts'
import type { Queries } from '../platform/database/database.ts'
import type { Challenge } from './challenge.ts'

declare module '../platform/database/tables.ts' {
  interface Tables {
    v1_challenges: {
      challenge_id: string
      client_uuid: string
      nonce_hash: Uint8Array
      status: Challenge['status']
      created_at: number
      expires_at: number
    }
  }
}

export const challengeStore = {
  insert: async (tx: Queries, challenge: Challenge): Promise<void> => {
    await tx
      .insertInto('v1_challenges')
      .values({
        challenge_id: challenge.challengeId,
        client_uuid: challenge.clientUuid,
        nonce_hash: challenge.nonceHash,
        status: challenge.status,
        created_at: challenge.createdAt.getTime(),
        expires_at: challenge.expiresAt.getTime(),
      })
      .execute()
  },

  find: async (queries: Queries, challengeId: string): Promise<Challenge | undefined> => {
    const row = await queries
      .selectFrom('v1_challenges')
      .selectAll()
      .where('challenge_id', '=', challengeId)
      .executeTakeFirst()
    return (
      row && {
        challengeId,
        clientUuid: row.client_uuid,
        nonceHash: row.nonce_hash,
        status: row.status,
        createdAt: new Date(row.created_at),
        expiresAt: new Date(row.expires_at),
      }
    )
  },

  /** One conditional write: of several concurrent attempts, only one gets true. */
  consume: async (tx: Queries, { challengeId, clientUuid }: Challenge, now: Date): Promise<boolean> => {
    const row = await tx
      .updateTable('v1_challenges')
      .set({ status: 'used' })
      .where('challenge_id', '=', challengeId)
      .where('client_uuid', '=', clientUuid)
      .where('status', '=', 'active')
      .where('expires_at', '>', now.getTime())
      .returning('challenge_id')
      .executeTakeFirst()
    return row !== undefined
  },

  revokeActive: async (tx: Queries, clientUuid: string): Promise<void> => {
    await tx
      .updateTable('v1_challenges')
      .set({ status: 'revoked' })
      .where('client_uuid', '=', clientUuid)
      .where('status', '=', 'active')
      .execute()
  },

  dropExpiredBefore: (tx: Queries, before: Date): Promise<number> =>
    deleteBatch(tx, 'v1_challenges', 'challenge_id', sql`expires_at < ${before.getTime()}`),
}

export type V1ChallengeStore = typeof challengeStore
