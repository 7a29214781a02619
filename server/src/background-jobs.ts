/** Calls to other services besides proxied ones: token refreshes, revocations, callbacks, pushes, e-mail. */
import { createDeliverCallbacks } from './callbacks/deliver-callbacks.ts'
import type { DeliverCallbacksNeeds } from './callbacks/deliver-callbacks.ts'
import { createFreshToken } from './connections/fresh-token.ts'
import type { FreshTokenNeeds } from './connections/fresh-token.ts'
import { createRevokeRemotely } from './connections/revoke-remotely.ts'
import type { RevokeRemotelyNeeds } from './connections/revoke-remotely.ts'
import { settleRefreshes } from './connections/settle-refreshes.ts'
import { createDeliverPushes } from './devices/deliver-pushes.ts'
import type { DeliverPushesNeeds } from './devices/deliver-pushes.ts'
import type { Config } from './config/config.ts'
import { createDeliverMails } from './mail/deliver-mails.ts'
import type { DeliverMailsNeeds } from './mail/deliver-mails.ts'
import { createMailer } from './platform/mail/mailer.ts'
import type { Metrics } from './platform/operations/metrics.ts'
import { createPush } from './platform/push/push.ts'
import { openVapidKey } from './platform/push/vapid-key.ts'
import type { Vault } from './platform/vault/vault.ts'

type JobNeeds = Omit<FreshTokenNeeds, 'onRefresh'> &
  RevokeRemotelyNeeds &
  DeliverCallbacksNeeds &
  DeliverMailsNeeds &
  Omit<DeliverPushesNeeds, 'push'> & { config: Config; vault: Vault; metrics: Metrics }

export async function createBackgroundJobs(needs: JobNeeds) {
  const { config, metrics } = needs
  const refreshes = metrics.counter('sallyport_token_refreshes_total', 'Token refreshes by outcome', ['outcome'])
  const { freshToken, refreshesEnded } = createFreshToken({
    ...needs,
    onRefresh: (outcome) => {
      refreshes.inc({ outcome })
    },
  })
  const revokeRemotely = createRevokeRemotely(needs)
  const callbacks = createDeliverCallbacks(needs)
  const vapid = await openVapidKey({ ...needs, given: config.vapidPrivateKey })
  const pushes = createDeliverPushes({ ...needs, push: createPush({ ...needs, vapid }) })
  const mailer = createMailer(needs)
  const mails = mailer && createDeliverMails(needs, mailer)
  const askProviders = async () => {
    await revokeRemotely.due()
    await settleRefreshes(needs, freshToken)
  }
  return {
    freshToken,
    revokeRemotely,
    vapidPublicKey: vapid.publicKey,
    kickCallbacks: callbacks.kick,
    kickPushes: pushes.kick,
    catchUp: async () => {
      await Promise.all([askProviders(), callbacks.due(), pushes.due(), mails?.due()])
    },
    /** Starts nothing more; resolves once nothing is running. */
    ended: async () => {
      await Promise.all([refreshesEnded(), callbacks.ended(), pushes.ended(), mails?.ended()])
    },
  }
}
