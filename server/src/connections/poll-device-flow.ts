import type { ConnectErrorCode } from '@sallyport/protocol/connections'
import type { Clock } from '../platform/clock.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Log } from '../platform/operations/log.ts'
import type { OAuth } from '../platform/oauth/oauth.ts'
import { OAuthRefused } from '../platform/oauth/oauth-client.ts'
import type { Tokens } from '../platform/oauth/oauth-client.ts'
import { clientOf } from '../providers/client-of.ts'
import type { User } from '../sessions/user.ts'
import { ConnectFailed } from './connect-flow.ts'
import { asUnavailable, slowDownSeconds } from './device-flow.ts'
import type { DeviceFlow, DeviceFlowStatus } from './device-flow.ts'
import type { DeviceFlowStore, KnownFlow } from './device-flow-store.ts'
import { keepConnection } from './keep-connection.ts'
import type { Consent, KeepConnectionNeeds } from './keep-connection.ts'
import { identifyAccount } from './identify-account.ts'

export interface PollDeviceFlowNeeds extends KeepConnectionNeeds {
  oauth: OAuth
  deviceFlows: DeviceFlowStore
  clock: Clock
  log: Log
}

export interface Progress {
  status: DeviceFlowStatus
  intervalSeconds: number
  connectionId?: string
}

/**
 * Longer than the requests to the token endpoint and for the account can take, so that no second poll runs meanwhile.
 */
const pollLeaseMs = 60_000

export async function pollDeviceFlow(
  needs: PollDeviceFlowNeeds,
  user: User,
  deviceFlowId: string,
  requestId: string,
): Promise<Progress> {
  const { database, deviceFlows, clock } = needs
  const known = await deviceFlows.findOfUser(database.queries, user.userId, deviceFlowId)
  if (!known)
    throw new ServiceError('not_found', { field: 'device_flow_id', message: 'You have no device flow with this id.' })
  if (known.outcome) return progress(known, known.outcome, known.madeConnectionId)
  const now = clock()
  if (known.expiresAt <= now) {
    await deviceFlows.end(database.queries, known, 'expired')
    return progress(known, 'expired')
  }
  const until = new Date(now.getTime() + pollLeaseMs)
  const flow = await database.transaction((tx) => deviceFlows.takePoll(tx, known, now, until))
  return flow ? ask(needs, flow, requestId) : progress(known, 'slow_down')
}

async function ask(needs: PollDeviceFlowNeeds, flow: DeviceFlow, requestId: string): Promise<Progress> {
  const { database, oauth, providers, deviceFlows, clock } = needs
  const waitFor = (seconds: number) => deviceFlows.waitForNextPoll(database.queries, flow, seconds, clock())
  const provider = await providers.find(database.queries, flow.providerId)
  if (provider?.status !== 'active') {
    await waitFor(flow.intervalSeconds)
    throw new ServiceError('conflict', { message: 'This provider is not active, so accounts cannot be connected.' })
  }
  const client = await clientOf(providers, database.queries, provider)
  let tokens: Tokens
  try {
    tokens = await oauth.pollDevice(client, flow.deviceCode)
  } catch (error) {
    return refused(needs, flow, error, requestId, waitFor)
  }
  const account = await identifyAccount(needs, provider, client, tokens)
  return keep(needs, flow, { tokens, account, requestId })
}

/** RFC 8628 §3.5 */
async function refused(
  needs: PollDeviceFlowNeeds,
  flow: DeviceFlow,
  error: unknown,
  requestId: string,
  waitFor: (seconds: number) => Promise<void>,
): Promise<Progress> {
  const code = error instanceof OAuthRefused ? error.code : undefined
  if (code === 'access_denied') {
    await endDenied(needs, flow, code, requestId)
    return progress(flow, 'denied')
  }
  if (code === 'expired_token' || code === 'invalid_grant') {
    await needs.deviceFlows.end(needs.database.queries, flow, 'expired')
    return progress(flow, 'expired')
  }
  const intervalSeconds = flow.intervalSeconds + (code === 'slow_down' ? slowDownSeconds : 0)
  await waitFor(intervalSeconds)
  if (code === 'authorization_pending') return progress(flow, 'pending')
  if (code === 'slow_down') return progress({ ...flow, intervalSeconds }, 'slow_down')
  throw asUnavailable(error)
}

/** Stores the connection and ends the flow in one transaction. */
async function keep(
  needs: PollDeviceFlowNeeds,
  flow: DeviceFlow,
  { tokens, account, requestId }: Pick<Consent, 'tokens' | 'account' | 'requestId'>,
): Promise<Progress> {
  const { database, deviceFlows, clock, log } = needs
  const { userId, providerId, connectionId, scopes } = flow
  const consent = { userId, providerId, connectionId, scopes, tokens, account, requestId }
  try {
    const made = await database.transaction(async (tx) => {
      const connection = await keepConnection(needs, tx, consent, clock())
      await deviceFlows.end(tx, flow, 'connected', connection.connectionId)
      return connection
    })
    return progress(flow, 'connected', made.connectionId)
  } catch (error) {
    if (!(error instanceof ConnectFailed)) throw error
    log.info({ err: error, device_flow_id: flow.deviceFlowId }, 'connecting an account failed')
    await endDenied(needs, flow, error.code, requestId)
    throw new ServiceError('conflict', { message: `The account was not connected: ${error.code}.` })
  }
}

/** Audited only once, like a failed consent in a browser. */
async function endDenied(
  { database, deviceFlows, audit, clock }: PollDeviceFlowNeeds,
  flow: DeviceFlow,
  code: ConnectErrorCode,
  requestId: string,
): Promise<void> {
  const { deviceFlowId, providerId, userId } = flow
  await database.transaction(async (tx) => {
    if (!(await deviceFlows.end(tx, flow, 'denied'))) return
    const detail = { device_flow_id: deviceFlowId, provider_id: providerId, code }
    await audit.append(tx, { event: 'connection.refused', at: clock(), requestId, userId, detail })
  })
}

function progress(flow: KnownFlow, status: DeviceFlowStatus, connectionId: string | null = null): Progress {
  return { status, intervalSeconds: flow.intervalSeconds, ...(connectionId !== null && { connectionId }) }
}
