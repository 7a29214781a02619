/** One sign-in in one place. It ends after a while without a call, after a while in all, or when it is revoked. */
export interface Session {
  sessionId: string
  userId: string
  createdAt: Date
  lastSeenAt: Date
  /** The end in any case. */
  expiresAt: Date
  revokedAt: Date | null
}

export type SessionStatus = 'active' | 'expired' | 'revoked'

export function statusOf(session: Session, idleSeconds: number, now: Date): SessionStatus {
  if (session.revokedAt) return 'revoked'
  const idleUntil = session.lastSeenAt.getTime() + idleSeconds * 1000
  return session.expiresAt <= now || idleUntil <= now.getTime() ? 'expired' : 'active'
}

const seenEverySeconds = 60

/** Whether a call is worth a write: to the minute is exact enough. */
export function isDueToBeSeen(session: Session, now: Date): boolean {
  return now.getTime() - session.lastSeenAt.getTime() >= seenEverySeconds * 1000
}
