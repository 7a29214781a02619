import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { Secret } from '../platform/secret.ts'
import { hashToken, isWellFormedToken, mintToken } from '../platform/tokens.ts'
import type { LoginTokenStore } from './login-token-store.ts'
import type { Session } from './session.ts'
import { startSession } from './start-session.ts'
import type { StartSessionNeeds } from './start-session.ts'
import type { User } from './user.ts'
import type { UserStore } from './user-store.ts'

export interface LogInNeeds extends StartSessionNeeds {
  database: Database
  users: UserStore
  loginTokens: LoginTokenStore
  clock: Clock
}

/** The same error whether the token is unknown, used, expired, or of a disabled user. */
function notUsable(): ServiceError {
  return new ServiceError('unauthenticated', {
    field: 'login_token',
    message: 'The login token is unknown, used or expired. Request a new one.',
  })
}

/** The token is consumed in the transaction that starts the session, so it starts exactly one. */
export async function logIn(
  needs: LogInNeeds,
  loginToken: string,
  requestId: string,
): Promise<{ user: User; session: Session; sessionToken: Secret }> {
  const { database, users, loginTokens, clock } = needs
  if (!isWellFormedToken('login', loginToken)) throw notUsable()
  const tokenHash = hashToken(new Secret(loginToken))
  const sessionToken = mintToken('session')
  return database.transaction(async (tx) => {
    const now = clock()
    const consumed = await loginTokens.consume(tx, tokenHash, now)
    const user = consumed && (await users.find(tx, consumed.userId))
    if (!user || user.disabledAt) throw notUsable()
    const session = await startSession(needs, tx, user, {
      ...{ sessionToken, at: now, requestId },
      isOperator: consumed.isOperator,
    })
    return { user, session, sessionToken }
  })
}

/** Which user a token would sign in, without consuming it. */
export async function previewLogin(
  { database, users, loginTokens, clock }: LogInNeeds,
  loginToken: string,
): Promise<{ user: User; expiresAt: Date }> {
  if (!isWellFormedToken('login', loginToken)) throw notUsable()
  const usable = await loginTokens.findUsable(database.queries, hashToken(new Secret(loginToken)), clock())
  const user = usable && (await users.find(database.queries, usable.userId))
  if (!user || user.disabledAt) throw notUsable()
  return { user, expiresAt: usable.expiresAt }
}
