import type { Notification } from '../platform/push/push-service.ts'

/** The text of a notification. It passes through third-party push services: no secrets. */
export interface PushMessage {
  title: string
  body: string
  accessRequestId: string
  /** The page where the request can be decided. */
  url: string
}

export function toNotification(message: PushMessage, expiresAt: Date): Notification {
  const { title, body, accessRequestId, url } = message
  const data = { access_request_id: accessRequestId, url }
  return { title, body, data, collapseId: accessRequestId, expiresAt }
}
