import type { Queries } from '../platform/database/database.ts'
import type { User } from './user.ts'
import { toUser } from './user-store.ts'

interface IdentityRow {
  issuer: string
  subject: string
  user_id: string
  created_at: number
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    identities: IdentityRow
  }
}

export const identityStore = {
  findUser: async (queries: Queries, issuer: string, subject: string): Promise<User | undefined> => {
    const row = await queries
      .selectFrom('identities')
      .innerJoin('users', 'users.user_id', 'identities.user_id')
      .selectAll('users')
      .where('issuer', '=', issuer)
      .where('subject', '=', subject)
      .executeTakeFirst()
    return row && toUser(row)
  },

  hasOne: async (queries: Queries, userId: string): Promise<boolean> => {
    const query = queries.selectFrom('identities').select('user_id').where('user_id', '=', userId)
    return (await query.executeTakeFirst()) !== undefined
  },

  /** False if the identity belongs to a user already, or the user has one: both are unique. */
  insert: async (
    tx: Queries,
    identity: { issuer: string; subject: string; userId: string; createdAt: Date },
  ): Promise<boolean> => {
    const row = await tx
      .insertInto('identities')
      .values({
        issuer: identity.issuer,
        subject: identity.subject,
        user_id: identity.userId,
        created_at: identity.createdAt.getTime(),
      })
      .onConflict((conflict) => conflict.doNothing())
      .returning('user_id')
      .executeTakeFirst()
    return row !== undefined
  },
}

export type IdentityStore = typeof identityStore
