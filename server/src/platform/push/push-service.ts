/** What the push services have in common. They are run by others, so notifications contain nothing secret. */
import { createHash } from 'node:crypto'
import { retryAfterTime } from '../backoff.ts'
import type { Clock } from '../clock.ts'
import { isEgressFailure } from '../egress/failures.ts'
import type { Secret } from '../secret.ts'

export interface Notification {
  title: string
  body: string
  /** For the app that receives it. */
  data: Record<string, string>
  /** A later notification with the same id replaces this one. */
  collapseId: string
  /** After this the service need not deliver it. */
  expiresAt: Date
}

export type PushTarget =
  | { service: 'apns'; token: Secret; environment: 'production' | 'sandbox' }
  | { service: 'fcm'; token: Secret }
  /** The token is the JSON text of a PushSubscription. */
  | { service: 'web'; token: Secret }

/** `reason` is a code for the log: never what was sent or who it was for. */
export type PushOutcome =
  | { kind: 'sent' }
  /** The token is permanently invalid. */
  | { kind: 'gone'; reason: string }
  | { kind: 'later'; reason: string; notBefore?: Date }
  /** A retry would fail in the same way: the mistake is on our side. */
  | { kind: 'refused'; reason: string }

/** Nothing was sent, such as without an access token. */
export class PushFailed extends Error {
  readonly outcome: PushOutcome

  constructor(outcome: PushOutcome & { reason: string }) {
    super(outcome.reason)
    this.name = 'PushFailed'
    this.outcome = outcome
  }
}

interface Answer {
  answer: Response
  reason: string
  /** The service says that the token is invalid. */
  isGone: boolean
}

/** Turns what a service answers, and every failure, into an outcome. */
export function createSender<Target extends PushTarget>(
  clock: Clock,
  send: (target: Target, notification: Notification) => Promise<Answer>,
): (target: Target, notification: Notification) => Promise<PushOutcome> {
  return async (target, notification) => {
    try {
      const { answer, reason, isGone } = await send(target, notification)
      return commonOutcome(answer, reason, clock()) ?? { kind: isGone ? 'gone' : 'refused', reason }
    } catch (error) {
      if (error instanceof PushFailed) return error.outcome
      if (!isEgressFailure(error)) throw error
      // Network failures are temporary; an address that is not allowed is permanent.
      const passes = ['upstream_unreachable', 'upstream_tls_error', 'upstream_timeout', 'busy'].includes(error.code)
      return { kind: passes ? 'later' : 'refused', reason: error.code }
    }
  }
}

/** Undefined if it depends on the service. */
export function commonOutcome(answer: Response, reason: string, now: Date): PushOutcome | undefined {
  if (answer.ok) return { kind: 'sent' }
  if (answer.status !== 429 && answer.status < 500) return undefined
  const notBefore = retryAfterTime(answer.headers.get('retry-after') ?? '', now)
  return { kind: 'later', reason, ...(notBefore && { notBefore }) }
}

/** The service's reason if it looks like a code: other text might contain what was sent. */
export function reasonOf(given: unknown, status: number): string {
  return typeof given === 'string' && /^\w{1,60}$/.test(given) ? given : `status_${status}`
}

export async function jsonOf<Body>(answer: Response): Promise<Body | null | undefined> {
  try {
    return (await answer.json()) as Body
  } catch {
    return undefined
  }
}

/** Hashed if it is too long for the service. */
export function collapseIdOf({ collapseId }: Notification, maxBytes: number): string {
  if (Buffer.byteLength(collapseId) <= maxBytes) return collapseId
  return createHash('sha256').update(collapseId).digest('base64url').slice(0, maxBytes)
}

export function secondsLeft({ expiresAt }: Notification, now: Date): number {
  return Math.max(0, Math.floor((expiresAt.getTime() - now.getTime()) / 1000))
}
