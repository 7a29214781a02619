import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { User } from './user.ts'
import type { UserStore } from './user-store.ts'

export interface DisableUserNeeds {
  database: Database
  users: UserStore
  audit: AuditWriter
  clock: Clock
}

/** The user's sessions are refused from the next call on. Idempotent. */
export async function disableUser(
  { database, users, audit, clock }: DisableUserNeeds,
  userId: string,
  requestId: string,
): Promise<User> {
  return database.transaction(async (tx) => {
    const at = clock()
    const disabled = await users.disable(tx, userId, at)
    if (disabled) await audit.append(tx, { event: 'user.disabled', at, requestId, userId })
    const user = disabled ?? (await users.find(tx, userId))
    if (!user) throw new ServiceError('not_found')
    return user
  })
}
