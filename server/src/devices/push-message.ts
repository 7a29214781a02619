import type { Notification } from '../platform/push/notification.ts'

/** What a person is shown. It passes through others' machines: plain, short, nothing secret. */
export interface PushMessage {
  title: string
  body: string
  accessRequestId: string
  /** Where the request can be decided. */
  url: string
}

export function toNotification(message: PushMessage, expiresAt: Date): Notification {
  const { title, body, accessRequestId, url } = message
  const data = { access_request_id: accessRequestId, url }
  return { title, body, data, collapseId: accessRequestId, expiresAt }
}
