/**
 * What must not come back to life with an older database. Whatever is used once, or lives briefly, may have been used since:
 * it ends here. What may have been sent to an upstream since is not sent again.
 */
import { sql } from 'kysely'
import type { Queries } from '../../platform/database/database.ts'

/** Each ends at `expires_at`. */
const shortLived = [
  ...['login_tokens', 'login_flows', 'connect_flows', 'device_flows', 'pairing_codes', 'challenges'],
  ...['tool_keys', 'call_repeats', 'v1_challenges'],
]

export interface Settled {
  sessions: number
  heldCalls: number
  refreshes: number
}

export const settleStore = {
  settle: async (tx: Queries, now: number): Promise<Settled> => {
    const count = async (query: ReturnType<typeof sql>) => Number((await query.execute(tx)).numAffectedRows ?? 0n)
    for (const table of shortLived) {
      await sql`update ${sql.table(table)} set expires_at = ${now} where expires_at > ${now}`.execute(tx)
    }
    const sessions = await count(sql`update sessions set revoked_at = ${now} where revoked_at is null`)
    // Approved ones may have been made since. A person who decides again would make them twice.
    const begun = await count(sql`update held_calls set status = 'running', deadline = ${now}
      where status in ('approved', 'running')`)
    const waiting = await count(sql`update held_calls set expires_at = ${now}
      where status = 'waiting' and expires_at > ${now}`)
    // The job for interrupted refreshes finds out whether the tokens are still good.
    const refreshes = await count(sql`update connections set refresh_lease_until = ${now}
      where refresh_lease_until > ${now}`)
    return { sessions, heldCalls: begun + waiting, refreshes }
  },

  /** The time of the newest audit record. */
  newestRecordAt: async (queries: Queries): Promise<number> => {
    const { rows } = await sql<{ at: number | null }>`select max(at) as at from audit_records`.execute(queries)
    return rows[0]?.at ?? 0
  },

  /** On PostgreSQL: sessions of the service besides this one. */
  countOtherSessions: async (queries: Queries): Promise<number> => {
    const { rows } = await sql<{ count: number }>`select count(*) as count from pg_stat_activity
      where application_name = 'sallyport' and datname = current_database() and pid <> pg_backend_pid()`.execute(
      queries,
    )
    return rows[0]?.count ?? 0
  },
}
