/** Apple's push service, with token-based authentication over one HTTP/2 connection that is kept open. */
import type { KeyObject } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Egress } from '../egress/egress.ts'
import { jwtTime, signJwt } from '../jwt.ts'
import type { Secret } from '../secret.ts'
import { collapseIdOf, createSender, jsonOf, PushFailed, reasonOf } from './push-service.ts'
import type { Notification, PushTarget } from './push-service.ts'

export interface ApnsAccount {
  key: KeyObject
  keyId: string
  teamId: string
  topic: string
  /** Replaces Apple's own two hosts. */
  url: URL | undefined
}

const hosts = { production: 'https://api.push.apple.com', sandbox: 'https://api.sandbox.push.apple.com' }
/** Apple accepts a token for an hour, and a new one at most every 20 minutes. */
const tokenLifetimeMs = 40 * 60_000
const maxPayloadBytes = 4096
/** Not `DeviceTokenNotForTopic`: a wrong topic in the settings would delete every token. */
const deadTokens = new Set(['BadDeviceToken', 'Unregistered', 'ExpiredToken'])

type ApnsTarget = Extract<PushTarget, { service: 'apns' }>

export function createApns({ egress, clock }: { egress: Egress; clock: Clock }, account: ApnsAccount) {
  const call = egress.fetchOverHttp2()
  let current: { token: Secret; madeAt: Date } | undefined

  const providerToken = (): Secret => {
    const now = clock()
    if (!current || now.getTime() - current.madeAt.getTime() >= tokenLifetimeMs) {
      const token = signJwt({ alg: 'ES256', ...account }, { iss: account.teamId, iat: jwtTime(now) })
      current = { token, madeAt: now }
    }
    return current.token
  }
  /** If several pushes are refused at once, only the first renews the token: Apple limits new ones. */
  const renew = (refused: Secret) => {
    if (current?.token === refused) current = undefined
  }

  const attempt = async (target: ApnsTarget, notification: Notification, payload: string, token: Secret) => {
    const base = account.url?.origin ?? hosts[target.environment]
    const answer = await call(`${base}/3/device/${target.token.reveal()}`, {
      method: 'POST',
      headers: {
        authorization: `bearer ${token.reveal()}`,
        'content-type': 'application/json',
        'apns-topic': account.topic,
        'apns-push-type': 'alert',
        'apns-priority': '10',
        'apns-expiration': String(jwtTime(notification.expiresAt)),
        'apns-collapse-id': collapseIdOf(notification, 64),
      },
      body: payload,
    })
    const body = answer.ok ? undefined : await jsonOf<{ reason?: unknown }>(answer)
    const reason = reasonOf(body?.reason, answer.status)
    return { answer, reason, isGone: answer.status === 410 || (answer.status === 400 && deadTokens.has(reason)) }
  }

  return createSender<ApnsTarget>(clock, async (target, notification) => {
    const payload = payloadOf(notification)
    if (Buffer.byteLength(payload) > maxPayloadBytes) {
      throw new PushFailed({ kind: 'refused', reason: 'payload_too_large' })
    }
    const token = providerToken()
    const result = await attempt(target, notification, payload, token)
    if (result.reason !== 'ExpiredProviderToken') return result
    renew(token)
    return attempt(target, notification, payload, providerToken())
  })
}

function payloadOf({ title, body, data }: Notification): string {
  return JSON.stringify({ ...data, aps: { alert: { title, body }, sound: 'default' } })
}
