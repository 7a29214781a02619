import type { AuditWriter } from '../audit/audit-log.ts'
import type { Config } from '../config/config.ts'
import type { Queries } from '../platform/database/database.ts'
import { newId } from '../platform/ids.ts'
import type { Secret } from '../platform/secret.ts'
import { hashToken } from '../platform/tokens.ts'
import type { Session } from './session.ts'
import type { SessionStore } from './session-store.ts'
import type { User } from './user.ts'

export interface StartSessionNeeds {
  config: Pick<Config, 'sessionSeconds'>
  sessions: SessionStore
  audit: AuditWriter
}

export interface SessionStart {
  sessionToken: Secret
  at: Date
  requestId: string
  /** The login provider, unless the user signed in with a login token. */
  via?: string
  isOperator?: boolean
}

/** Call it in the transaction that authenticates the user. */
export async function startSession(
  { config, sessions, audit }: StartSessionNeeds,
  tx: Queries,
  { userId }: User,
  { sessionToken, at, requestId, via, isOperator = false }: SessionStart,
): Promise<Session> {
  const session: Session = {
    sessionId: newId('ses', at),
    userId,
    createdAt: at,
    lastSeenAt: at,
    expiresAt: new Date(at.getTime() + config.sessionSeconds * 1000),
    revokedAt: null,
    isOperator,
  }
  await sessions.insert(tx, session, hashToken(sessionToken))
  const detail = {
    session_id: session.sessionId,
    ...(via !== undefined && { via }),
    ...(isOperator && { operator: true }),
  }
  await audit.append(tx, { event: 'session.started', at, requestId, userId, detail })
  return session
}
