import { ListUsersQuery, User as UserView, UserPage } from '@sallyport/protocol/sessions'
import { IdInPath, NoBody } from '@sallyport/protocol/schema'
import type { Queries } from '../platform/database/database.ts'
import { pageRequest } from '../platform/database/paging.ts'
import type { Http } from '../platform/http/http.ts'
import { searchPages } from '../platform/database/search-pages.ts'
import { disableUser } from './disable-user.ts'
import { enableUser } from './enable-user.ts'
import type { EnableUserNeeds } from './enable-user.ts'
import type { User } from './user.ts'

const tags = ['Users']

interface UserRouteNeeds extends EnableUserNeeds {
  /** Their active grants. */
  grantsOfUsers: (
    queries: Queries,
    userIds: readonly string[],
    now: Date,
  ) => Promise<ReadonlyMap<string, { active: number }>>
}

export function userRoutes(http: Http, needs: UserRouteNeeds): void {
  const { database, users, sessions, grantsOfUsers, clock } = needs

  http.get(
    '/v4/users',
    {
      config: { allow: ['admin'] },
      schema: { tags, summary: 'List and search users', querystring: ListUsersQuery, response: { 200: UserPage } },
    },
    async ({ query }) => {
      const { records, nextCursor } = await searchPages(
        (page) => users.list(database.queries, page),
        pageRequest(query),
        { query: query.query, textOf: searchedText, idOf: ({ userId }) => userId },
      )
      const ids = records.map(({ userId }) => userId)
      const seen = await sessions.lastSeen(database.queries, ids)
      const figures = await grantsOfUsers(database.queries, ids, clock())
      const lastSeenAt = ({ userId }: User) => seen.get(userId)?.toISOString() ?? null
      return {
        users: records.map((user) => ({
          ...userView(user),
          active_grants: figures.get(user.userId)?.active ?? 0,
          last_seen_at: lastSeenAt(user),
        })),
        next_cursor: nextCursor,
      }
    },
  )

  http.post(
    '/v4/users/:id/disable',
    {
      config: { allow: ['admin'], worksOnFullDisk: true },
      schema: { tags, summary: 'Disable a user', params: IdInPath, body: NoBody, response: { 200: UserView } },
    },
    async ({ params, id }) => userView(await disableUser(needs, params.id, id)),
  )

  http.post(
    '/v4/users/:id/enable',
    {
      config: { allow: ['admin'] },
      schema: {
        tags,
        summary: 'Enable a disabled user',
        description:
          'The user can sign in again. Connected accounts, paired devices and grants that have not ended work again. ' +
          'Sessions, sign-in links and pairing codes from before stay ended, and so do calls that were in progress or ' +
          'waiting. Takes up to two seconds right after disabling.',
        params: IdInPath,
        body: NoBody,
        response: { 200: UserView },
      },
    },
    async ({ params, id }) => userView(await enableUser(needs, params.id, id)),
  )
}

function searchedText({ name, email, userId }: User): string {
  return `${name ?? ''} ${email ?? ''} ${userId}`
}

export function userView(user: User): UserView {
  return {
    user_id: user.userId,
    name: user.name,
    email: user.email,
    status: user.disabledAt ? 'disabled' : 'active',
    created_at: user.createdAt.toISOString(),
    disabled_at: user.disabledAt?.toISOString() ?? null,
    require_device_approval: user.requiresDevice,
  }
}
