import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { sessionEnds } from './session.ts'
import type { Session } from './session.ts'
import type { SessionStore } from './session-store.ts'
import type { User } from './user.ts'

export interface EndSessionsNeeds {
  config: Pick<Config, 'sessionIdleSeconds'>
  sessions: SessionStore
  audit: AuditWriter
  clock: Clock
  /** Ends pairing codes of this user, which one of these sessions may have requested. */
  endPairingCodes: (tx: Queries, userId: string) => Promise<void>
}

/** Ends one of the user's sessions, or all of them. Idempotent. */
export function endSessions(
  needs: EndSessionsNeeds & { database: Database },
  user: User,
  which: { sessionId: string } | 'all',
  requestId: string,
): Promise<Session[]> {
  return needs.database.transaction((tx) => endSessionsIn(needs, tx, user, which, requestId))
}

export async function endSessionsIn(
  { config, sessions, audit, clock, endPairingCodes }: EndSessionsNeeds,
  tx: Queries,
  { userId }: User,
  which: { sessionId: string } | 'all',
  requestId: string,
): Promise<Session[]> {
  const at = clock()
  const ended = await sessions.revoke(tx, userId, which, sessionEnds(config.sessionIdleSeconds, at))
  for (const session of ended) {
    const detail = { session_id: session.sessionId }
    await audit.append(tx, { event: 'session.revoked', at, requestId, userId, detail })
  }
  if (ended.length > 0) await endPairingCodes(tx, userId)
  return ended
}
