import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { OAuth } from '../platform/oauth/oauth.ts'
import { perHour, takeFromLimit } from '../platform/limits/rate-limits.ts'
import { clientOf } from '../providers/client-of.ts'
import { judgeRedirectAfter } from '../platform/http/own-path.ts'
import { redirectUri } from '../providers/provider.ts'
import type { ProviderStore } from '../providers/provider-store.ts'
import { warningOf } from '../providers/warning.ts'
import type { User } from '../sessions/user.ts'
import { chooseProvider } from './choose-provider.ts'
import type { Wish } from './choose-provider.ts'
import { connectFlowSeconds } from './connect-flow.ts'
import type { ConnectFlow } from './connect-flow.ts'
import type { ConnectFlowStore } from './connect-flow-store.ts'
import type { ConnectionStore } from './connection-store.ts'

export interface StartConnectNeeds {
  config: Pick<Config, 'baseUrl' | 'connectsPerHour'>
  database: Database
  oauth: OAuth
  providers: ProviderStore
  connections: ConnectionStore
  connectFlows: ConnectFlowStore
  clock: Clock
}

/** Where to send the user's browser. What the response has to match is stored for ten minutes and one use. */
export async function startConnect(
  needs: StartConnectNeeds,
  user: User,
  wish: Wish & { redirectAfter: string | undefined },
): Promise<{ authorizationUrl: string; warning: string | null; expiresAt: Date }> {
  const { config, database, oauth, providers, connectFlows, clock } = needs
  const redirectAfter = judgeRedirectAfter(wish.redirectAfter ?? '/', config.baseUrl)
  const { provider, scopes, connectionId } = await chooseProvider(needs, database.queries, user, wish)
  if (provider.metadata.authorization_endpoint === undefined) {
    throw new ServiceError('conflict', {
      message: 'This provider has no authorization endpoint. Connect it with the device flow.',
    })
  }
  const client = await clientOf(providers, database.queries, provider)
  const request = {
    redirectUri: redirectUri(config.baseUrl, provider.slug),
    scopes,
    params: provider.authorizationParams,
  }
  const { url, checks } = await oauth.beginCode(client, request)
  const createdAt = clock()
  const flow: ConnectFlow = {
    flowId: newId('cfl', createdAt),
    userId: user.userId,
    providerId: provider.providerId,
    connectionId,
    scopes,
    redirectAfter,
    verifier: checks.verifier,
    nonce: checks.nonce ?? null,
    createdAt,
    expiresAt: new Date(createdAt.getTime() + connectFlowSeconds * 1000),
  }
  await database.transaction(async (tx) => {
    await takeFromLimit(tx, `connect:${user.userId}`, perHour(config.connectsPerHour), createdAt)
    await connectFlows.insert(tx, flow, checks.state)
  })
  return { authorizationUrl: url.href, warning: warningOf(provider), expiresAt: flow.expiresAt }
}
