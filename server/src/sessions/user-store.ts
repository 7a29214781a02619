import type { Database, Queries } from '../platform/database/database.ts'
import { pageOf } from '../platform/database/paging.ts'
import type { Page, PageRequest } from '../platform/database/paging.ts'
import { fromTime } from '../platform/database/times.ts'
import type { User } from './user.ts'

export interface UserRow {
  user_id: string
  handle: string | null
  name: string | null
  email: string | null
  created_at: number
  disabled_at: number | null
  requires_device: number
}

declare module '../platform/database/tables.ts' {
  interface Tables {
    users: UserRow
  }
}

export const userStore = {
  find: async (queries: Queries, userId: string): Promise<User | undefined> => {
    const row = await queries.selectFrom('users').selectAll().where('user_id', '=', userId).executeTakeFirst()
    return row && toUser(row)
  },

  /**
   * Locks the user until the transaction ends: neither their devices nor whether they require one can change. Take this
   * lock before any lock on a device or a challenge, to avoid deadlocks. Rows that refer to the user can still be
   * inserted.
   */
  lock: async ({ engine }: Database, tx: Queries, userId: string): Promise<User | undefined> => {
    const row = await tx
      .selectFrom('users')
      .selectAll()
      .where('user_id', '=', userId)
      .$if(engine === 'postgres', (query) => query.forNoKeyUpdate())
      .executeTakeFirst()
    return row && toUser(row)
  },

  requireDevice: async (tx: Queries, userId: string, requiresDevice: boolean): Promise<User> => {
    const row = await tx
      .updateTable('users')
      .set({ requires_device: requiresDevice ? 1 : 0 })
      .where('user_id', '=', userId)
      .returningAll()
      .executeTakeFirstOrThrow()
    return toUser(row)
  },

  findByEmail: async (queries: Queries, email: string): Promise<User | undefined> => {
    const row = await queries.selectFrom('users').selectAll().where('email', '=', email).executeTakeFirst()
    return row && toUser(row)
  },

  /** The user with this handle or e-mail address, created if there is none. Concurrent callers get the same user. */
  findOrInsert: async (tx: Queries, by: 'handle' | 'email', user: User): Promise<User> => {
    await tx
      .insertInto('users')
      .values(toRow(user))
      .onConflict((conflict) => conflict.column(by).doNothing())
      .execute()
    const row = await tx.selectFrom('users').selectAll().where(by, '=', user[by]).executeTakeFirstOrThrow()
    return toUser(row)
  },

  insert: async (tx: Queries, user: User): Promise<void> => {
    await tx.insertInto('users').values(toRow(user)).execute()
  },

  list: async (queries: Queries, page: PageRequest<'active' | 'disabled'>): Promise<Page<User>> => {
    const rows = await queries
      .selectFrom('users')
      .selectAll()
      .$if(page.status !== undefined, (query) =>
        query.where('disabled_at', page.status === 'active' ? 'is' : 'is not', null),
      )
      .$if(page.before !== undefined, (query) => query.where('user_id', '<', page.before ?? ''))
      .orderBy('user_id', 'desc')
      .limit(page.limit + 1)
      .execute()
    return pageOf(rows.map(toUser), page.limit, ({ userId }) => userId)
  },

  /** Undefined if there is no such user, or they are disabled already. */
  disable: async (tx: Queries, userId: string, now: Date): Promise<User | undefined> => {
    const row = await tx
      .updateTable('users')
      .set({ disabled_at: now.getTime() })
      .where('user_id', '=', userId)
      .where('disabled_at', 'is', null)
      .returningAll()
      .executeTakeFirst()
    return row && toUser(row)
  },

  /** Undefined unless they are still disabled since this time. */
  enable: async (tx: Queries, userId: string, disabledAt: Date): Promise<User | undefined> => {
    const row = await tx
      .updateTable('users')
      .set({ disabled_at: null })
      .where('user_id', '=', userId)
      .where('disabled_at', '=', disabledAt.getTime())
      .returningAll()
      .executeTakeFirst()
    return row && toUser(row)
  },
}

export type UserStore = typeof userStore

function toRow(user: User): UserRow {
  return {
    user_id: user.userId,
    handle: user.handle,
    name: user.name,
    email: user.email,
    created_at: user.createdAt.getTime(),
    disabled_at: user.disabledAt?.getTime() ?? null,
    requires_device: user.requiresDevice ? 1 : 0,
  }
}

export function toUser(row: UserRow): User {
  return {
    userId: row.user_id,
    handle: row.handle,
    name: row.name,
    email: row.email,
    createdAt: new Date(row.created_at),
    disabledAt: fromTime(row.disabled_at),
    requiresDevice: row.requires_device === 1,
  }
}
