import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { Secret } from '../platform/secret.ts'
import { hashToken, mintToken } from '../platform/tokens.ts'
import type { LoginTokenStore } from './login-token-store.ts'
import { normaliseEmail } from './user.ts'
import type { ownerHandle, User } from './user.ts'
import type { UserStore } from './user-store.ts'

export interface IssueLoginTokenNeeds {
  config: Pick<Config, 'loginTokenSeconds' | 'baseUrl'>
  database: Database
  users: UserStore
  loginTokens: LoginTokenStore
  audit: AuditWriter
  clock: Clock
}

/** Whom to sign in: an existing user, the user with an e-mail address, the local owner, or a new user. */
export type LoginTokenFor =
  | { userId: string }
  | { email: string; name: string | undefined }
  | { handle: typeof ownerHandle }
  | { name: string | undefined }

export interface IssuedLoginToken {
  loginToken: Secret
  expiresAt: Date
  userId: string
}

export async function issueLoginToken(
  needs: IssueLoginTokenNeeds,
  whom: LoginTokenFor,
  {
    lifetimeSeconds = needs.config.loginTokenSeconds,
    requestId,
    isOperator = false,
  }: { lifetimeSeconds?: number | undefined; requestId?: string; isOperator?: boolean },
): Promise<IssuedLoginToken> {
  const { database, loginTokens, audit, clock } = needs
  const createdAt = clock()
  const expiresAt = new Date(createdAt.getTime() + lifetimeSeconds * 1000)
  const loginToken = mintToken('login')
  const userId = await database.transaction(async (tx) => {
    const user = await findOrMakeUser(needs, tx, whom, createdAt)
    if (user.disabledAt) throw new ServiceError('conflict', { message: 'This user is disabled.' })
    const { userId } = user
    await loginTokens.insert(tx, { tokenHash: hashToken(loginToken), userId, createdAt, expiresAt, isOperator })
    await audit.append(tx, { event: 'login_token.issued', at: createdAt, requestId, userId })
    return userId
  })
  return { loginToken, expiresAt, userId }
}

/** The page at this URL names the user and asks for confirmation. A fragment is never sent to a server. */
export function loginUrl({ baseUrl }: Pick<Config, 'baseUrl'>, loginToken: Secret): Secret {
  return new Secret(`${baseUrl.origin}/#login_token=${loginToken.reveal()}`)
}

async function findOrMakeUser(
  { users }: IssueLoginTokenNeeds,
  tx: Queries,
  whom: LoginTokenFor,
  now: Date,
): Promise<User> {
  if ('userId' in whom) {
    const user = await users.find(tx, whom.userId)
    if (!user) throw new ServiceError('not_found', { field: 'user_id', message: 'No such user.' })
    return user
  }
  const fresh: User = {
    userId: newId('usr', now),
    handle: null,
    name: null,
    email: null,
    createdAt: now,
    disabledAt: null,
    requiresDevice: false,
  }
  if ('handle' in whom) return users.findOrInsert(tx, 'handle', { ...fresh, handle: whom.handle, name: whom.handle })
  const named = { ...fresh, name: whom.name ?? null }
  if ('email' in whom) return users.findOrInsert(tx, 'email', { ...named, email: normaliseEmail(whom.email) })
  await users.insert(tx, named)
  return named
}
