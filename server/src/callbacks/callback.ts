/**
 * A callback tells an agent how its access request was decided. Its URL is untrusted: its text is checked when it is
 * set, and the addresses that it resolves to are checked at each delivery.
 */
import { createHmac, randomBytes } from 'node:crypto'
import type { Egress } from '../platform/egress/egress.ts'
import { ServiceError } from '../platform/errors.ts'
import { Secret } from '../platform/secret.ts'

/** `waiting` for a decision, then `pending` until it is `delivered` or permanently `failed`. */
export type CallbackStatus = 'waiting' | 'pending' | 'delivered' | 'failed'

export interface CallbackState {
  status: CallbackStatus
  attempts: number
  /** A coarse code, so that an agent can't probe networks with it. */
  lastError: string | null
}

/** Exactly the members in the spec (spec v4, Events 1). */
export interface CallbackPayload {
  event: 'access_request.approved' | 'access_request.denied'
  access_request_id: string
  status: 'approved' | 'denied'
  grant_id: string | null
  provider: string
  agent_id: string
}

/** A callback that is leased to this process and due now. */
export interface ClaimedCallback {
  deliveryId: string
  accessRequestId: string
  agentId: string
  url: URL
  body: string
  /** Includes this attempt. */
  attempts: number
  giveUpAfter: Date
}

const secretPrefix = 'whsec_'
const maxUrlLength = 2000

/** In the format of Standard Webhooks. */
export function mintCallbackSecret(): Secret {
  return new Secret(`${secretPrefix}${randomBytes(32).toString('base64')}`)
}

/** The `webhook-signature` header of Standard Webhooks. */
export function signatureOf(secret: Secret, deliveryId: string, timestamp: string, body: string): string {
  const key = Buffer.from(secret.reveal().slice(secretPrefix.length), 'base64')
  return `v1,${createHmac('sha256', key).update(`${deliveryId}.${timestamp}.${body}`).digest('base64')}`
}

export function judgeCallbackUrl(egress: Pick<Egress, 'judgeUrl'>, text: string): URL {
  const invalid = (message: string) => new ServiceError('invalid_url', { field: 'callback_url', message })
  if (text.length > maxUrlLength) throw invalid(`The URL is longer than ${maxUrlLength} characters.`)
  const url = URL.parse(text)
  if (!url) throw invalid('The URL cannot be parsed. Use an absolute https URL.')
  egress.judgeUrl(url, 'stranger', 'callback_url')
  // An empty fragment is only visible in the text.
  if (url.href.includes('#')) throw invalid('The URL has a fragment, which is never sent. Remove it.')
  return url
}
