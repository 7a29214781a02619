import { ListUsersQuery, User as UserView, UserPage } from '@sallyport/protocol/sessions'
import { IdInPath, NoBody } from '@sallyport/protocol/schema'
import { pageRequest } from '../platform/database/paging.ts'
import type { Http } from '../platform/http/http.ts'
import { disableUser } from './disable-user.ts'
import type { DisableUserNeeds } from './disable-user.ts'
import type { SessionStore } from './session-store.ts'
import type { User } from './user.ts'

const tags = ['Users']

export function userRoutes(http: Http, needs: DisableUserNeeds & { sessions: SessionStore }): void {
  const { database, users, sessions } = needs

  http.get(
    '/v4/users',
    {
      config: { allow: ['admin'] },
      schema: { tags, summary: 'List users', querystring: ListUsersQuery, response: { 200: UserPage } },
    },
    async ({ query }) => {
      const { records, nextCursor } = await users.list(database.queries, pageRequest(query))
      const ids = records.map(({ userId }) => userId)
      const seen = await sessions.lastSeen(database.queries, ids)
      const lastSeenAt = ({ userId }: User) => seen.get(userId)?.toISOString() ?? null
      return {
        users: records.map((user) => ({ ...userView(user), last_seen_at: lastSeenAt(user) })),
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
