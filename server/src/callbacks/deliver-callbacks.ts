/**
 * Delivers callbacks from the outbox at least once, with a constant `webhook-id`, signed according to Standard
 * Webhooks. The receiver is untrusted: only the status of its response counts, and the body is not stored.
 */
import type { AuditWriter } from '../audit/audit-log.ts'
import { retryTime } from '../platform/backoff.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import type { Egress } from '../platform/egress/egress.ts'
import type { Log } from '../platform/operations/log.ts'
import { createOutbox } from '../platform/outbox.ts'
import type { Outbox } from '../platform/outbox.ts'
import { signatureOf } from './callback.ts'
import type { ClaimedCallback } from './callback.ts'
import type { CallbackStore } from './callback-store.ts'
import { failureOf, judgeAnswer } from './delivery-outcome.ts'
import type { Failure } from './delivery-outcome.ts'

export interface DeliverCallbacksNeeds {
  database: Database
  egress: Egress
  callbacks: CallbackStore
  audit: AuditWriter
  clock: Clock
  log: Log
}

const answerWithinMs = 10_000
/** Longer than an attempt can take, so that attempts never overlap. */
const leaseMs = 15_000
const concurrency = 20
const perAgent = 5
/** After a long outage, a receiver gets its callbacks within minutes. */
const pause = { firstMs: 5_000, longestMs: 900_000 }
/** Limits how much of a response is read. */
const maxAnswerBytes = 65_536

/** `patienceMs`: how long a receiver may take to respond. */
export function createDeliverCallbacks(needs: DeliverCallbacksNeeds, patienceMs = answerWithinMs): Outbox {
  const { database, callbacks, clock, log } = needs
  return createOutbox({
    what: 'callbacks',
    concurrency,
    log,
    claim: (limit) => {
      const now = clock()
      return callbacks.claim(database, { now, until: new Date(now.getTime() + leaseMs), limit, perAgent })
    },
    carryOut: async (callback) => {
      const failure = await send(needs, callback, patienceMs)
      if (!failure) {
        await conclude(needs, callback, null)
        return
      }
      const { deliveryId, attempts, giveUpAfter } = callback
      const { error, cause } = failure
      const err = cause === undefined ? {} : { err: cause }
      log.info({ delivery_id: deliveryId, attempts, error, ...err }, 'a callback could not be delivered')
      const now = clock()
      if (failure.isFinal || now >= giveUpAfter) await conclude(needs, callback, error)
      else await callbacks.postpone(database.queries, callback, nextAttempt(now, callback, failure), error)
    },
  })
}

/** Undefined on success. */
async function send(
  { database, egress, callbacks, clock }: DeliverCallbacksNeeds,
  callback: ClaimedCallback,
  patienceMs: number,
): Promise<Failure | undefined> {
  const { deliveryId, url, body } = callback
  const heardEnough = new AbortController()
  try {
    const secret = await callbacks.secretOf(database.queries, callback)
    if (!secret) return { error: 'agent_disabled', isFinal: true }
    const timestamp = String(Math.floor(clock().getTime() / 1000))
    const limits = { connectMs: patienceMs, firstByteMs: patienceMs, wholeMs: patienceMs, maxBytes: Infinity }
    const answer = await egress.request({
      url,
      method: 'POST',
      headers: [
        ['content-type', 'application/json'],
        ['webhook-id', deliveryId],
        ['webhook-timestamp', timestamp],
        ['webhook-signature', signatureOf(secret, deliveryId, timestamp, body)],
      ],
      body: Buffer.from(body),
      suppliedBy: 'stranger',
      limits,
      signal: heardEnough.signal,
    })
    const failure = judgeAnswer(answer, clock())
    // If the response breaks off, the receiver may have lost the callback.
    if (!failure) await hearOut(answer.body)
    return failure
  } catch (error) {
    return failureOf(error)
  } finally {
    heardEnough.abort()
  }
}

async function hearOut(body: AsyncIterable<Uint8Array>): Promise<void> {
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > maxAnswerBytes) return
  }
}

/** The last attempt is exactly at `giveUpAfter`. */
function nextAttempt(now: Date, { attempts, giveUpAfter }: ClaimedCallback, { notBefore }: Failure): Date {
  const times = [retryTime(now, attempts, pause), notBefore ?? now].map((time) => time.getTime())
  return new Date(Math.min(Math.max(...times), giveUpAfter.getTime()))
}

async function conclude(
  { database, callbacks, audit, clock }: DeliverCallbacksNeeds,
  callback: ClaimedCallback,
  error: string | null,
): Promise<void> {
  const { deliveryId, accessRequestId, agentId, attempts, url } = callback
  await database.transaction(async (tx) => {
    if (!(await callbacks.end(tx, callback, { error }))) return
    // Record only the host: the rest of the URL may contain the receiver's secret.
    const told = { access_request_id: accessRequestId, delivery_id: deliveryId, host: url.host, attempts }
    const record = { at: clock(), agentId }
    if (error === null) await audit.append(tx, { ...record, event: 'callback.delivered', detail: told })
    else await audit.append(tx, { ...record, event: 'callback.failed', detail: { ...told, error } })
  })
}
