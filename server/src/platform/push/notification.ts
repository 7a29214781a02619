/** What the push services have in common. They are run by others, so notifications contain nothing secret. */
import { createHash } from 'node:crypto'
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

/** Hashed if it is too long for the service. */
export function collapseIdOf({ collapseId }: Notification, maxBytes: number): string {
  if (Buffer.byteLength(collapseId) <= maxBytes) return collapseId
  return createHash('sha256').update(collapseId).digest('base64url').slice(0, maxBytes)
}

export function secondsLeft({ expiresAt }: Notification, now: Date): number {
  return Math.max(0, Math.floor((expiresAt.getTime() - now.getTime()) / 1000))
}
