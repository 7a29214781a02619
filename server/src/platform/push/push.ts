/** What the push services have in common. None of them is told anything that must stay secret: they are others' machines. */
import type { Secret } from '../secret.ts'

export interface Notification {
  title: string
  body: string
  /** For the app that receives it. */
  data: Record<string, string>
  /** A later notification with the same one takes the place of this one, where it is still waiting or on show. */
  collapseId: string
  /** When it is of no use any more: the service then need not hand it over. */
  expiresAt: Date
}

export type PushEnvironment = 'production' | 'sandbox'

export type PushTarget =
  | { service: 'apns'; token: Secret; environment: PushEnvironment }
  | { service: 'fcm'; token: Secret }
  | { service: 'web'; token: Secret }

/** `reason` is a code for the log: never what was sent or who it was for. */
export type PushOutcome =
  | { kind: 'sent' }
  /** That token will never lead to a device again. */
  | { kind: 'gone'; reason: string }
  | { kind: 'later'; reason: string; notBefore?: Date }
  /** Another try would end in the same way: the fault is ours. */
  | { kind: 'refused'; reason: string }

export interface Push {
  send: (target: PushTarget, notification: Notification) => Promise<PushOutcome>
  /** What a browser needs to know of us before it subscribes. */
  vapidPublicKey: string
}
