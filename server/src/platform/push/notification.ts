/** What the push services have in common. None is told anything that must stay secret: they are others' machines. */
import { createHash } from 'node:crypto'
import type { Secret } from '../secret.ts'

export interface Notification {
  title: string
  body: string
  /** For the app that receives it. */
  data: Record<string, string>
  /** A later notification with the same one takes the place of this one, where it still waits or is on show. */
  collapseId: string
  /** When it is of no use any more: the service then need not hand it over. */
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
  /** That token will never lead to a device again. */
  | { kind: 'gone'; reason: string }
  | { kind: 'later'; reason: string; notBefore?: Date }
  /** Another try would end in the same way: the fault is ours. */
  | { kind: 'refused'; reason: string }

/** Short enough for the service, and the same for the same. */
export function collapseIdOf({ collapseId }: Notification, maxBytes: number): string {
  if (Buffer.byteLength(collapseId) <= maxBytes) return collapseId
  return createHash('sha256').update(collapseId).digest('base64url').slice(0, maxBytes)
}

export function secondsLeft({ expiresAt }: Notification, now: Date): number {
  return Math.max(0, Math.floor((expiresAt.getTime() - now.getTime()) / 1000))
}
