/**
 * Tells users by e-mail what is new. A message is written when it is sent, from what is then there: any number of
 * requests and refused calls are one message, and what was decided meanwhile is in none. After a crash a message may
 * arrive twice.
 */
import { retryTime } from '../platform/backoff.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../platform/database/database.ts'
import type { Mailer } from '../platform/mail/mailer.ts'
import type { Log } from '../platform/operations/log.ts'
import { createOutbox } from '../platform/outbox.ts'
import type { Outbox } from '../platform/outbox.ts'
import type { UserStore } from '../sessions/user-store.ts'
import { gatherNews } from './gather-news.ts'
import type { NewsNeeds } from './gather-news.ts'
import { letterOf } from './letter.ts'
import type { Settled, Subscription, SubscriptionStore } from './subscription-store.ts'

export interface DeliverMailsNeeds extends NewsNeeds {
  config: Pick<Config, 'baseUrl'>
  database: Database
  users: UserStore
  subscriptions: SubscriptionStore
  clock: Clock
  log: Log
}

const minuteMs = 60_000
/** Longer than sending one can take. */
const leaseMs = 3 * minuteMs
const betweenMs = 10 * minuteMs
const betweenRefusalsMs = 60 * minuteMs
const pause = { firstMs: minuteMs, longestMs: 60 * minuteMs }

export function createDeliverMails(needs: DeliverMailsNeeds, mailer: Mailer): Outbox {
  const { database, subscriptions, clock, log } = needs
  return createOutbox({
    what: 'e-mail',
    claim: (limit) => {
      const now = clock()
      return subscriptions.claim(database, now, new Date(now.getTime() + leaseMs), limit)
    },
    carryOut: async (subscription) => {
      await subscriptions.settle(database.queries, subscription, await tell(needs, mailer, subscription))
    },
    concurrency: 5,
    log,
  })
}

async function tell(needs: DeliverMailsNeeds, mailer: Mailer, subscription: Subscription): Promise<Settled> {
  const { config, database, users, clock, log } = needs
  const now = clock()
  const after = (ms: number) => new Date(now.getTime() + ms)
  const user = await users.find(database.queries, subscription.userId)
  if (user?.email == null || user.disabledAt) return { attempts: 0, lookAt: after(betweenMs) }
  const { news, ...told } = await gatherNews(needs, database.queries, subscription, now)
  if (news.requests.length + news.refusals.length === 0) return { attempts: 0, lookAt: after(minuteMs) }
  const outcome = await mailer({ to: user.email, ...letterOf(news, config.baseUrl.origin) })
  const attempts = subscription.attempts + 1
  if (outcome.kind === 'later') {
    log.warn({ reason: outcome.reason, attempts }, 'an e-mail could not be sent and will be retried')
    return { attempts, lookAt: retryTime(now, attempts, pause) }
  }
  if (outcome.kind === 'refused') log.error({ reason: outcome.reason }, 'an e-mail was rejected and is not retried')
  const refusals = news.refusals.length > 0 && { refusalsDue: after(betweenRefusalsMs) }
  return { ...told, ...refusals, attempts: 0, lookAt: after(betweenMs) }
}
