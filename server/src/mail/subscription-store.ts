/** Claiming a subscription leases it to this process until a time, which identifies the lease. */
import type { Database, Queries } from '../platform/database/database.ts'
import type {} from '../sessions/user-store.ts'

interface SubscriptionRow {
  user_id: string
  /** Requests up to then have been told. */
  requests_after: number
  refusals_after: number
  /** No message about refusals before. */
  refusals_due: number
  /** Since the last message that was sent. */
  attempts: number
  /** When to look for news, or the end of the lease. */
  attempt_after: number
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    mail_subscriptions: SubscriptionRow
  }
}

export interface Subscription {
  userId: string
  requestsAfter: Date
  refusalsAfter: Date
  refusalsDue: Date
  attempts: number
  leasedUntil: Date
}

export interface Settled {
  requestsAfter?: Date
  refusalsAfter?: Date
  refusalsDue?: Date
  attempts: number
  lookAt: Date
}

export const subscriptionStore = {
  /** What happened before is not told. Does nothing if there is one. */
  insert: async (tx: Queries, userId: string, now: Date): Promise<void> => {
    const at = now.getTime()
    const times = { requests_after: at, refusals_after: at, refusals_due: at, attempts: 0, attempt_after: at }
    await tx
      .insertInto('mail_subscriptions')
      .values({ user_id: userId, ...times })
      .onConflict((conflict) => conflict.column('user_id').doNothing())
      .execute()
  },

  drop: async (tx: Queries, userId: string): Promise<void> => {
    await tx.deleteFrom('mail_subscriptions').where('user_id', '=', userId).execute()
  },

  has: async (queries: Queries, userId: string): Promise<boolean> => {
    const found = queries.selectFrom('mail_subscriptions').select('user_id').where('user_id', '=', userId)
    return (await found.executeTakeFirst()) !== undefined
  },

  claim: async (
    { engine, queries }: Pick<Database, 'engine' | 'queries'>,
    now: Date,
    until: Date,
    limit: number,
  ): Promise<Subscription[]> => {
    const rows = await queries
      .with('due', (db) =>
        db
          .selectFrom('mail_subscriptions')
          .select('user_id')
          .where('attempt_after', '<=', now.getTime())
          .orderBy('attempt_after')
          .limit(limit)
          // Skip what another instance is claiming right now.
          .$if(engine === 'postgres', (select) => select.forUpdate().skipLocked()),
      )
      .updateTable('mail_subscriptions')
      .set({ attempt_after: until.getTime() })
      .where('user_id', 'in', (eb) => eb.selectFrom('due').select('user_id'))
      .returningAll()
      .execute()
    return rows.map((row) => ({
      userId: row.user_id,
      requestsAfter: new Date(row.requests_after),
      refusalsAfter: new Date(row.refusals_after),
      refusalsDue: new Date(row.refusals_due),
      attempts: row.attempts,
      leasedUntil: new Date(row.attempt_after),
    }))
  },

  /** Does nothing if the lease was taken over, or the user wants no e-mail any more. */
  settle: async (queries: Queries, { userId, leasedUntil }: Subscription, settled: Settled): Promise<void> => {
    const { requestsAfter, refusalsAfter, refusalsDue, attempts, lookAt } = settled
    await queries
      .updateTable('mail_subscriptions')
      .set({
        ...(requestsAfter && { requests_after: requestsAfter.getTime() }),
        ...(refusalsAfter && { refusals_after: refusalsAfter.getTime() }),
        ...(refusalsDue && { refusals_due: refusalsDue.getTime() }),
        attempts,
        attempt_after: lookAt.getTime(),
      })
      .where('user_id', '=', userId)
      .where('attempt_after', '=', leasedUntil.getTime())
      .execute()
  },
}

export type SubscriptionStore = typeof subscriptionStore
