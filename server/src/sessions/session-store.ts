import { sql } from 'kysely'
import { deleteBatch } from '../platform/database/batches.ts'
import type { Queries } from '../platform/database/database.ts'
import { pageOf } from '../platform/database/paging.ts'
import type { Page, PageRequest } from '../platform/database/paging.ts'
import { fromTime } from '../platform/database/times.ts'
import type { Session, SessionEnds, SessionStatus } from './session.ts'
import type { User } from './user.ts'
import { toUser } from './user-store.ts'

interface SessionRow {
  session_id: string
  user_id: string
  token_hash: Uint8Array
  created_at: number
  last_seen_at: number
  expires_at: number
  revoked_at: number | null
  is_operator: number
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    sessions: SessionRow
  }
}

const columns = [
  'sessions.session_id',
  'sessions.user_id',
  'sessions.created_at',
  'sessions.last_seen_at',
  'sessions.expires_at',
  'sessions.revoked_at',
  'sessions.is_operator',
] as const

export const sessionStore = {
  insert: async (tx: Queries, session: Session, tokenHash: Uint8Array): Promise<void> => {
    await tx
      .insertInto('sessions')
      .values({
        session_id: session.sessionId,
        user_id: session.userId,
        token_hash: tokenHash,
        created_at: session.createdAt.getTime(),
        last_seen_at: session.lastSeenAt.getTime(),
        expires_at: session.expiresAt.getTime(),
        revoked_at: null,
        is_operator: session.isOperator ? 1 : 0,
      })
      .execute()
  },

  findByTokenHash: async (
    queries: Queries,
    tokenHash: Uint8Array,
  ): Promise<{ session: Session; user: User } | undefined> => {
    const row = await queries
      .selectFrom('sessions')
      .innerJoin('users', 'users.user_id', 'sessions.user_id')
      .select(columns)
      .select(['users.handle', 'users.name', 'users.email', 'users.disabled_at', 'users.requires_device'])
      .select('users.created_at as user_created_at')
      .where('sessions.token_hash', '=', tokenHash)
      .executeTakeFirst()
    return row && { session: toSession(row), user: toUser({ ...row, created_at: row.user_created_at }) }
  },

  markSeen: async (queries: Queries, sessionId: string, now: Date): Promise<void> => {
    await queries
      .updateTable('sessions')
      .set({ last_seen_at: now.getTime() })
      .where('session_id', '=', sessionId)
      .where('last_seen_at', '<', now.getTime())
      .execute()
  },

  /** When each of these users was last seen. Users without sessions are not included. */
  lastSeen: async (queries: Queries, userIds: readonly string[]): Promise<Map<string, Date>> => {
    if (userIds.length === 0) return new Map()
    const rows = await queries
      .selectFrom('sessions')
      .select((eb) => ['user_id', eb.fn.max('last_seen_at').as('last_seen_at')])
      .where('user_id', 'in', userIds)
      .groupBy('user_id')
      .execute()
    return new Map(rows.map((row) => [row.user_id, new Date(row.last_seen_at)]))
  },

  listOfUser: async (
    queries: Queries,
    userId: string,
    page: PageRequest<SessionStatus>,
    ends: SessionEnds,
  ): Promise<Page<Session>> => {
    const rows = await queries
      .selectFrom('sessions')
      .select(columns)
      .where('user_id', '=', userId)
      .$if(page.status === 'revoked', (query) => query.where('revoked_at', 'is not', null))
      .$if(page.status === 'active', (query) =>
        query
          .where('revoked_at', 'is', null)
          .where('expires_at', '>', ends.now.getTime())
          .where('last_seen_at', '>', ends.idleSince.getTime()),
      )
      .$if(page.status === 'expired', (query) =>
        query
          .where('revoked_at', 'is', null)
          .where((eb) =>
            eb.or([eb('expires_at', '<=', ends.now.getTime()), eb('last_seen_at', '<=', ends.idleSince.getTime())]),
          ),
      )
      .$if(page.before !== undefined, (query) => query.where('session_id', '<', page.before ?? ''))
      .orderBy('session_id', 'desc')
      .limit(page.limit + 1)
      .execute()
    return pageOf(rows.map(toSession), page.limit, ({ sessionId }) => sessionId)
  },

  findOfUser: async (queries: Queries, userId: string, sessionId: string): Promise<Session | undefined> => {
    const row = await queries
      .selectFrom('sessions')
      .select(columns)
      .where('user_id', '=', userId)
      .where('session_id', '=', sessionId)
      .executeTakeFirst()
    return row && toSession(row)
  },

  /** Those of these sessions that are active and whose user is not disabled. */
  listLive: async (queries: Queries, sessionIds: readonly string[], ends: SessionEnds): Promise<string[]> => {
    const rows = await queries
      .selectFrom('sessions')
      .innerJoin('users', 'users.user_id', 'sessions.user_id')
      .select('session_id')
      .where('session_id', 'in', sessionIds)
      .where('users.disabled_at', 'is', null)
      .where('revoked_at', 'is', null)
      .where('expires_at', '>', ends.now.getTime())
      .where('last_seen_at', '>', ends.idleSince.getTime())
      .execute()
    return rows.map(({ session_id }) => session_id)
  },

  /** Revokes one of the user's sessions, or all. Returns those that were active. */
  revoke: async (
    tx: Queries,
    userId: string,
    which: { sessionId: string } | 'all',
    ends: SessionEnds,
  ): Promise<Session[]> => {
    const rows = await tx
      .updateTable('sessions')
      .set({ revoked_at: ends.now.getTime() })
      .where('user_id', '=', userId)
      .where('revoked_at', 'is', null)
      .where('expires_at', '>', ends.now.getTime())
      .where('last_seen_at', '>', ends.idleSince.getTime())
      .$if(which !== 'all', (query) => query.where('session_id', '=', which === 'all' ? '' : which.sessionId))
      .returning(columns)
      .execute()
    return rows.map(toSession)
  },

  /** Sessions that ended this long ago are of no use to anyone. */
  dropEndedBefore: (queries: Queries, before: Date): Promise<number> =>
    deleteBatch(queries, 'sessions', 'session_id', sql`expires_at < ${before.getTime()}`),
}

export type SessionStore = typeof sessionStore

function toSession(row: Omit<SessionRow, 'token_hash'>): Session {
  return {
    sessionId: row.session_id,
    userId: row.user_id,
    createdAt: new Date(row.created_at),
    lastSeenAt: new Date(row.last_seen_at),
    expiresAt: new Date(row.expires_at),
    revokedAt: fromTime(row.revoked_at),
    isOperator: row.is_operator === 1,
  }
}
