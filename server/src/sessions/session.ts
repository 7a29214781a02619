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

/** The moments that decide: a session is over that ends by `now`, or that nobody has used since `idleSince`. */
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

/** Whether a call is worth a write: to the minute is exact enough. */
export function isDueToBeSeen({ lastSeenAt }: { lastSeenAt: Date }, now: Date): boolean {
  return now.getTime() - lastSeenAt.getTime() >= seenEverySeconds * 1000
}
