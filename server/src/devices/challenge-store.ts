import { sql } from 'kysely'
import { deleteBatch } from '../platform/database/batches.ts'
import type { Queries } from '../platform/database/database.ts'
import { fromTime } from '../platform/database/times.ts'
import type { Challenge } from './challenge.ts'

interface ChallengeRow {
  challenge_id: string
  device_id: string
  user_id: string
  subject: string
  nonce: string
  decision: string | null
  created_at: number
  expires_at: number
  used_at: number | null
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    challenges: ChallengeRow
  }
}

export const challengeStore = {
  insert: async (tx: Queries, challenge: Challenge): Promise<void> => {
    await tx
      .insertInto('challenges')
      .values({
        challenge_id: challenge.challengeId,
        device_id: challenge.deviceId,
        user_id: challenge.userId,
        subject: challenge.subject,
        nonce: challenge.nonce,
        decision: challenge.decision,
        created_at: challenge.createdAt.getTime(),
        expires_at: challenge.expiresAt.getTime(),
        used_at: null,
      })
      .execute()
  },

  findOf: async (
    queries: Queries,
    of: { userId: string; subject: string },
    challengeId: string,
  ): Promise<Challenge | undefined> => {
    const row = await queries
      .selectFrom('challenges')
      .selectAll()
      .where('challenge_id', '=', challengeId)
      .where('user_id', '=', of.userId)
      .where('subject', '=', of.subject)
      .executeTakeFirst()
    return row && toChallenge(row)
  },

  /** One conditional write: of several concurrent calls, one gets true. */
  consume: async (tx: Queries, challengeId: string, now: Date): Promise<boolean> => {
    const row = await tx
      .updateTable('challenges')
      .set({ used_at: now.getTime() })
      .where('challenge_id', '=', challengeId)
      .where('used_at', 'is', null)
      .where('expires_at', '>', now.getTime())
      .returning('challenge_id')
      .executeTakeFirst()
    return row !== undefined
  },

  dropExpiredBefore: (queries: Queries, before: Date): Promise<number> =>
    deleteBatch(queries, 'challenges', 'challenge_id', sql`expires_at < ${before.getTime()}`),
}

export type ChallengeStore = typeof challengeStore

function toChallenge(row: ChallengeRow): Challenge {
  return {
    challengeId: row.challenge_id,
    deviceId: row.device_id,
    userId: row.user_id,
    subject: row.subject,
    nonce: row.nonce,
    decision: row.decision,
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
    usedAt: fromTime(row.used_at),
  }
}
