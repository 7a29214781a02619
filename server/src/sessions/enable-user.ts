import type { Database, Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { endSessionsIn } from './end-sessions.ts'
import type { EndSessionsNeeds } from './end-sessions.ts'
import type { LoginTokenStore } from './login-token-store.ts'
import type { User } from './user.ts'
import type { UserStore } from './user-store.ts'

export interface EnableUserNeeds extends EndSessionsNeeds {
  database: Database
  users: UserStore
  loginTokens: LoginTokenStore
  /** The user's devices can't approve until confirmed again. Returns those that could. */
  unenrolDevices: (tx: Queries, userId: string) => Promise<string[]>
  /** Resolves once every call has ended that disabling at this time ends. */
  callsEnded: (disabledAt: Date) => Promise<void>
}

/**
 * The user's grants and accounts work again; ways of signing in from before stay ended. The reason may have been an
 * attacker with a session, who could pair a device: none can approve until the user confirms it. With device-only
 * approval a session can't add one that approves, and nothing could confirm them. Idempotent. Never undoes a later
 * disabling.
 */
export async function enableUser(needs: EnableUserNeeds, userId: string, requestId: string): Promise<User> {
  const { database, users, loginTokens, audit, clock, endPairingCodes, unenrolDevices, callsEnded } = needs
  const found = await users.find(database.queries, userId)
  if (!found) throw new ServiceError('not_found')
  const { disabledAt } = found
  if (!disabledAt) return found
  await callsEnded(disabledAt)
  return database.transaction(async (tx) => {
    const enabled = await users.enable(tx, userId, disabledAt)
    if (enabled) {
      await endSessionsIn(needs, tx, enabled, 'all', requestId)
      await endPairingCodes(tx, userId)
      await loginTokens.dropUnused(tx, userId)
      const unconfirmed = enabled.requiresDevice ? [] : await unenrolDevices(tx, userId)
      const detail = unconfirmed.length > 0 ? { devices: unconfirmed } : {}
      await audit.append(tx, { event: 'user.enabled', at: clock(), requestId, userId, detail })
    }
    const user = enabled ?? (await users.find(tx, userId))
    if (!user) throw new ServiceError('not_found')
    if (user.disabledAt) throw new ServiceError('conflict', { message: 'The user was disabled again meanwhile.' })
    return user
  })
}
