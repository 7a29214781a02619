/** Web Push (RFC 8030) with VAPID (RFC 8292). The package encrypts and signs; it never sends. */
import type { Clock } from '../clock.ts'
import type { Egress } from '../egress/egress.ts'
import { collapseIdOf, createSender, PushFailed, reasonOf, secondsLeft } from './push-service.ts'
import type { PushTarget } from './push-service.ts'
import { subscriptionOf } from './subscription.ts'
import type { VapidKey } from './vapid-key.ts'

export function createWebPush({ egress, clock }: { egress: Egress; clock: Clock }, vapid: VapidKey, subject: string) {
  // The browser supplies the address.
  const call = egress.fetch('stranger')

  return createSender<Extract<PushTarget, { service: 'web' }>>(clock, async ({ token }, notification) => {
    const subscription = subscriptionOf(token)
    if (!subscription) throw new PushFailed({ kind: 'gone', reason: 'no_subscription' })
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
    const headers = Object.entries(request.headers as object).filter(([name]) => !/^content-length$/i.test(name))
    const answer = await call(request.endpoint, {
      method: 'POST',
      headers: headers.map(([name, value]) => [name, String(value)]),
      body: Uint8Array.from(request.body),
    })
    return { answer, reason: reasonOf(undefined, answer.status), isGone: [404, 410].includes(answer.status) }
  })
}
