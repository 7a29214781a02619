/**
 * Sends the pushes that are due. Devices are read at that moment: one that was revoked, or whose user was disabled,
 * gets nothing.
 */
import { retryTime } from '../platform/backoff.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import type { Log } from '../platform/operations/log.ts'
import { createOutbox } from '../platform/outbox.ts'
import type { Outbox } from '../platform/outbox.ts'
import type { PushOutcome, PushTarget } from '../platform/push/push-service.ts'
import type { Push } from '../platform/push/push.ts'
import { toNotification } from './push-message.ts'
import type { ClaimedPush, PushAddress, PushStore } from './push-store.ts'

export interface DeliverPushesNeeds {
  database: Database
  pushes: PushStore
  push: Push
  clock: Clock
  log: Log
}

/** Longer than sending one push can take, so that attempts never overlap. */
const leaseMs = 90_000
const pause = { firstMs: 5000, longestMs: 600_000 }
const concurrency = 20

export function createDeliverPushes(needs: DeliverPushesNeeds): Outbox {
  const { database, pushes, clock, log } = needs
  return createOutbox({
    what: 'pushes',
    claim: (limit) => {
      const now = clock()
      return pushes.claim(database, now, new Date(now.getTime() + leaseMs), limit)
    },
    carryOut: (claimed) => deliver(needs, claimed),
    concurrency,
    log,
  })
}

async function deliver({ database, pushes, push, clock, log }: DeliverPushesNeeds, claimed: ClaimedPush) {
  const { pushId, deviceId, expiresAt } = claimed
  const address = expiresAt > clock() ? await pushes.addressOf(database.queries, deviceId) : undefined
  if (!address) {
    await pushes.drop(database.queries, claimed)
    return
  }
  const outcome = await push.send(targetOf(address), toNotification(claimed.message, expiresAt))
  const about = { push_id: pushId, device_id: deviceId, ...('reason' in outcome && { reason: outcome.reason }) }
  switch (outcome.kind) {
    case 'sent':
      await pushes.drop(database.queries, claimed)
      return
    case 'gone':
      log.info(about, 'a push token is no longer valid')
      await database.transaction(async (tx) => {
        // If the device has a new token by now, retry with that one.
        if (!(await pushes.forgetToken(tx, deviceId, address))) await pushes.postpone(tx, claimed, clock())
      })
      return
    case 'refused':
      log.error(about, 'a push was rejected and is not retried')
      await pushes.drop(database.queries, claimed)
      return
    case 'later': {
      const until = nextAttempt(claimed, outcome, clock())
      log.warn({ ...about, attempts: claimed.attempts }, 'a push could not be delivered')
      // It would arrive after the request has expired.
      if (until < expiresAt) await pushes.postpone(database.queries, claimed, until)
      else await pushes.drop(database.queries, claimed)
    }
  }
}

function nextAttempt({ attempts }: ClaimedPush, { notBefore }: PushOutcome & { kind: 'later' }, now: Date): Date {
  const until = retryTime(now, attempts, pause)
  return notBefore && notBefore > until ? notBefore : until
}

function targetOf({ platform, environment, token }: PushAddress): PushTarget {
  if (platform === 'ios') return { service: 'apns', token, environment }
  return { service: platform === 'android' ? 'fcm' : 'web', token }
}
