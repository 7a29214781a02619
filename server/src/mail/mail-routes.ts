import { Mail as MailView } from '@sallyport/protocol/mail'
import { NoBody } from '@sallyport/protocol/schema'
import { actingUser, onBehalfOf } from '../authenticate.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import type { Http } from '../platform/http/http.ts'
import type { SecretSource } from '../platform/config/settings.ts'
import type { User } from '../sessions/user.ts'
import type { SubscriptionStore } from './subscription-store.ts'

interface MailRouteNeeds {
  config: { smtpUrl: SecretSource }
  database: Database
  subscriptions: SubscriptionStore
  clock: Clock
}

const tags = ['Access requests']

/** A user wants e-mail, or not. Nobody gets any without having turned it on. */
export function mailRoutes(http: Http, needs: MailRouteNeeds): void {
  const { config, database, subscriptions, clock } = needs
  const view = async ({ userId, email }: User): Promise<MailView> => ({
    available: config.smtpUrl.isSet,
    address: email,
    on: await subscriptions.has(database.queries, userId),
  })

  http.get(
    '/v4/mail',
    {
      config: { allow: ['user'] },
      schema: { tags, summary: 'Read whether you get e-mail', response: { 200: MailView } },
    },
    (request) => view(actingUser(request).user),
  )

  http.put(
    '/v4/mail',
    {
      config: { allow: ['user'] },
      schema: {
        tags,
        summary: 'Get an e-mail about new requests and refused calls',
        body: NoBody,
        response: { 200: MailView },
      },
    },
    async (request) => {
      const { user } = actingUser(request)
      const acting = onBehalfOf(request, needs)
      await acting.database.transaction((tx) => subscriptions.insert(tx, user.userId, clock()))
      return view(user)
    },
  )

  http.delete(
    '/v4/mail',
    {
      config: { allow: ['user'] },
      schema: { tags, summary: 'Get no e-mail', response: { 200: MailView } },
    },
    async (request) => {
      const { user } = actingUser(request)
      const acting = onBehalfOf(request, needs)
      await acting.database.transaction((tx) => subscriptions.drop(tx, user.userId))
      return view(user)
    },
  )
}
