/** A sign-in of one browser or client. It ends by idle timeout, at `expiresAt`, or when it is revoked. */
export interface Session {
  sessionId: string
  userId: string
  createdAt: Date
  lastSeenAt: Date
  /** It ends then even if it is in use. */
  expiresAt: Date
  revokedAt: Date | null
  /** Began with the link of a local start. */
  isOperator: boolean
}

export type SessionStatus = 'active' | 'expired' | 'revoked'

/** A session has expired if `expiresAt` is not after `now`, or if it was not used after `idleSince`. */
export interface SessionEnds {
  now: Date
  idleSince: Date
}

export function sessionEnds(idleSeconds: number, now: Date): SessionEnds {
  return { now, idleSince: new Date(now.getTime() - idleSeconds * 1000) }
}

export function statusOf(session: Session, { now, idleSince }: SessionEnds): SessionStatus {
  if (session.revokedAt) return 'revoked'
  return session.expiresAt <= now || session.lastSeenAt <= idleSince ? 'expired' : 'active'
}

const seenEverySeconds = 60

/** Whether a call should update `lastSeenAt`. A precision of one minute is enough. */
export function isLastSeenOutdated({ lastSeenAt }: { lastSeenAt: Date }, now: Date): boolean {
  return now.getTime() - lastSeenAt.getTime() >= seenEverySeconds * 1000
}
