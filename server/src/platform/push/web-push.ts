/** Web Push (RFC 8030) with VAPID (RFC 8292). The package encrypts and signs; it never sends. */
import type { Clock } from '../clock.ts'
import type { Egress } from '../egress/egress.ts'
import { commonOutcome, reasonOf, settled } from './answers.ts'
import { collapseIdOf, secondsLeft } from './notification.ts'
import type { Notification, PushOutcome, PushTarget } from './notification.ts'
import { subscriptionOf } from './subscription.ts'
import type { VapidKey } from './vapid-key.ts'

export function createWebPush({ egress, clock }: { egress: Egress; clock: Clock }, vapid: VapidKey, subject: string) {
  // The browser supplies the address.
  const call = egress.fetch('stranger')

  return (target: Extract<PushTarget, { service: 'web' }>, notification: Notification): Promise<PushOutcome> =>
    settled(async () => {
      const subscription = subscriptionOf(target.token)
      if (!subscription) return { kind: 'gone', reason: 'no_subscription' }
      // Imported at the first push, because loading it would slow down the start.
      const { default: webPush } = await import('web-push')
      const { title, body, data } = notification
      const request = webPush.generateRequestDetails(subscription, JSON.stringify({ ...data, title, body }), {
        vapidDetails: { subject, publicKey: vapid.publicKey, privateKey: vapid.privateKey.reveal() },
        TTL: secondsLeft(notification, clock()),
        urgency: 'high',
        topic: collapseIdOf(notification, 32),
        contentEncoding: 'aes128gcm',
      })
      const answer = await call(request.endpoint, {
        method: 'POST',
        headers: headersOf(request.headers),
        body: Uint8Array.from(request.body),
      })
      const reason = reasonOf(undefined, answer.status)
      const common = commonOutcome(answer, reason, clock())
      if (common) return common
      return { kind: answer.status === 404 || answer.status === 410 ? 'gone' : 'refused', reason }
    })
}

function headersOf(headers: object): [string, string][] {
  return Object.entries(headers)
    .filter(([name]) => name.toLowerCase() !== 'content-length')
    .map(([name, value]) => [name, String(value)])
}
