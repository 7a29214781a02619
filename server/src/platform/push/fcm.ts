/** Firebase Cloud Messaging, HTTP v1, as a service account (RFC 7523). */
import type { KeyObject } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Egress } from '../egress/egress.ts'
import { jwtTime, signJwt } from '../jwt.ts'
import { Secret } from '../secret.ts'
import { collapseIdOf, commonOutcome, createSender, jsonOf } from './push-service.ts'
import { PushFailed, reasonOf, secondsLeft } from './push-service.ts'
import type { Notification, PushTarget } from './push-service.ts'

export interface FcmAccount {
  projectId: string
  clientEmail: string
  keyId: string
  key: KeyObject
  tokenUri: URL
}

const scope = 'https://www.googleapis.com/auth/firebase.messaging'
/** How long before its expiry a token is no longer used: requests take a while. */
const marginMs = 60_000

interface AccessToken {
  token: Secret
  goodUntil: Date
}

export function createFcm({ egress, clock }: { egress: Egress; clock: Clock }, account: FcmAccount, url: URL) {
  const call = egress.fetch('operator')
  const endpoint = `${url.origin}/v1/projects/${encodeURIComponent(account.projectId)}/messages:send`
  let asked: Promise<AccessToken> | undefined

  const ask = async (): Promise<AccessToken> => {
    const now = clock()
    const iat = jwtTime(now)
    const claims = { iss: account.clientEmail, scope, aud: account.tokenUri.href, iat, exp: iat + 3600 }
    const assertion = signJwt({ alg: 'RS256', ...account }, claims).reveal()
    const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
    const answer = await call(account.tokenUri.href, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: grantType, assertion }),
    })
    const body = await jsonOf<{ access_token?: unknown; expires_in?: unknown; error?: unknown }>(answer)
    if (!answer.ok) {
      const reason = `token_${reasonOf(body?.error, answer.status)}`
      const outcome = commonOutcome(answer, reason, now)
      throw new PushFailed(outcome?.kind === 'later' ? outcome : { kind: 'refused', reason })
    }
    if (typeof body?.access_token !== 'string') throw new PushFailed({ kind: 'refused', reason: 'token_answer' })
    const lifetimeMs = typeof body.expires_in === 'number' ? body.expires_in * 1000 : 0
    return { token: new Secret(body.access_token), goodUntil: new Date(now.getTime() + lifetimeMs - marginMs) }
  }

  /** Requested once for all that wait for it. A refused token is not returned again. */
  const accessToken = async (refused?: Secret): Promise<Secret> => {
    const known = asked
    const held = await known?.catch(() => undefined)
    if (held && held.goodUntil > clock() && held.token !== refused) return held.token
    const next = asked === known || asked === undefined ? ask() : asked
    asked = next
    return (await next).token
  }

  const attempt = async (message: object, token: Secret) => {
    const answer = await call(endpoint, {
      method: 'POST',
      headers: { authorization: `Bearer ${token.reveal()}`, 'content-type': 'application/json' },
      body: JSON.stringify({ message }),
    })
    const body = answer.ok ? undefined : await jsonOf<FcmErrorBody>(answer)
    return { answer, error: body?.error }
  }

  return createSender<Extract<PushTarget, { service: 'fcm' }>>(clock, async (target, notification) => {
    const message = messageOf(target.token, notification, clock())
    const token = await accessToken()
    let result = await attempt(message, token)
    if (result.answer.status === 401) result = await attempt(message, await accessToken(token))
    const { answer, error } = result
    const reason = reasonOf(codeOf(error) ?? error?.status, answer.status)
    const isUnregistered = answer.status === 404 && reason === 'UNREGISTERED'
    return { answer, reason, isGone: isUnregistered || (answer.status === 400 && isAboutToken(error)) }
  })
}

function messageOf(token: Secret, notification: Notification, now: Date): object {
  const { title, body, data } = notification
  const android = {
    priority: 'HIGH',
    collapse_key: collapseIdOf(notification, 64),
    ttl: `${secondsLeft(notification, now)}s`,
  }
  return { token: token.reveal(), notification: { title, body }, data, android }
}

interface FcmErrorBody {
  error?: {
    status?: unknown
    message?: unknown
    details?: { errorCode?: unknown; fieldViolations?: { field?: unknown }[] }[]
  }
}

function codeOf(error: FcmErrorBody['error']): unknown {
  return listOf(error?.details).find((one) => one.errorCode !== undefined)?.errorCode
}

/** `INVALID_ARGUMENT` may be about another member: then the mistake is on our side and the token may be valid. */
function isAboutToken(error: FcmErrorBody['error']): boolean {
  if (error?.status !== 'INVALID_ARGUMENT') return false
  const violations = listOf(error.details).flatMap(({ fieldViolations }) => listOf(fieldViolations))
  if (violations.length > 0) return violations.every(({ field }) => field === 'message.token')
  return typeof error.message === 'string' && /registration token/i.test(error.message)
}

function listOf<T extends object>(value: (T | null)[] | undefined): T[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'object' && one !== null) : []
}
