import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { OAuth } from '../platform/oauth/oauth.ts'
import { perHour, takeFromLimit } from '../platform/limits/rate-limits.ts'
import { clientOf } from '../providers/client-of.ts'
import { hasDeviceFlow } from '../providers/provider.ts'
import type { ProviderStore } from '../providers/provider-store.ts'
import { warningOf } from '../providers/warning.ts'
import type { User } from '../sessions/user.ts'
import { chooseProvider } from './choose-provider.ts'
import type { Wish } from './choose-provider.ts'
import type { ConnectionStore } from './connection-store.ts'
import { asUnavailable, boundedSchedule, judgeUserCode, judgeVerificationUri } from './device-flow.ts'
import type { DeviceFlow } from './device-flow.ts'
import type { DeviceFlowStore } from './device-flow-store.ts'

export interface StartDeviceFlowNeeds {
  config: Pick<Config, 'connectsPerHour'>
  database: Database
  oauth: OAuth
  providers: ProviderStore
  connections: ConnectionStore
  deviceFlows: DeviceFlowStore
  clock: Clock
}

/** What the user has to do at the provider. Returned only once: of this, only the device code is stored. */
export interface Instructions {
  deviceFlowId: string
  userCode: string
  verificationUri: string
  verificationUriComplete: string | null
  warning: string | null
  expiresAt: Date
  intervalSeconds: number
}

export async function startDeviceFlow(needs: StartDeviceFlowNeeds, user: User, wish: Wish): Promise<Instructions> {
  const { config, database, oauth, providers, deviceFlows, clock } = needs
  const { provider, scopes, connectionId } = await chooseProvider(needs, database.queries, user, wish)
  if (!hasDeviceFlow(provider)) {
    throw new ServiceError('conflict', {
      message: 'This provider does not support the device flow. Connect it in a browser.',
    })
  }
  const client = await clientOf(providers, database.queries, provider)
  await takeFromLimit(database.queries, `connect:${user.userId}`, perHour(config.connectsPerHour), clock())
  const begun = await oauth.beginDevice(client, scopes).catch((error: unknown) => {
    throw asUnavailable(error)
  })
  const userCode = judgeUserCode(begun.userCode)
  const verificationUri = judgeVerificationUri(begun.verificationUri, provider)
  const complete = begun.verificationUriComplete
  const verificationUriComplete = complete === undefined ? null : judgeVerificationUri(complete, provider)
  const { interval, lifetime } = boundedSchedule(begun.intervalSeconds, begun.expiresInSeconds)
  const createdAt = clock()
  const flow: DeviceFlow = {
    deviceFlowId: newId('dfl', createdAt),
    userId: user.userId,
    providerId: provider.providerId,
    connectionId,
    scopes,
    deviceCode: begun.deviceCode,
    intervalSeconds: interval,
    nextPollAt: new Date(createdAt.getTime() + interval * 1000),
    createdAt,
    expiresAt: new Date(createdAt.getTime() + lifetime * 1000),
    outcome: null,
    madeConnectionId: null,
  }
  await database.transaction((tx) => deviceFlows.insert(tx, flow))
  return {
    deviceFlowId: flow.deviceFlowId,
    userCode,
    verificationUri,
    verificationUriComplete,
    warning: warningOf(provider),
    expiresAt: flow.expiresAt,
    intervalSeconds: flow.intervalSeconds,
  }
}
