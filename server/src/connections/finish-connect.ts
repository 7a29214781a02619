/**
 * Handles the authorization response. A connection is created only in a browser that is signed in as the user who
 * started the flow: nobody can connect an account by opening someone else's link.
 */
import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Log } from '../platform/operations/log.ts'
import { isUnavailable } from '../platform/oauth/failures.ts'
import type { OAuth } from '../platform/oauth/oauth.ts'
import { OAuthAnswerInvalid, OAuthRefused } from '../platform/oauth/oauth-client.ts'
import { Secret } from '../platform/secret.ts'
import { mintToken } from '../platform/tokens.ts'
import { clientOf } from '../providers/client-of.ts'
import { redirectUri } from '../providers/provider.ts'
import type { Provider } from '../providers/provider.ts'
import type { User } from '../sessions/user.ts'
import { ConnectFailed, landing } from './connect-flow.ts'
import type { ConnectFlow } from './connect-flow.ts'
import type { ConnectFlowStore } from './connect-flow-store.ts'
import type { Connection } from './connection.ts'
import { keepConnection } from './keep-connection.ts'
import type { KeepConnectionNeeds } from './keep-connection.ts'
import { identifyAccount } from './identify-account.ts'

export interface FinishConnectNeeds extends KeepConnectionNeeds {
  config: Pick<Config, 'baseUrl'>
  oauth: OAuth
  connectFlows: ConnectFlowStore
  audit: AuditWriter
  clock: Clock
  log: Log
}

/** Where the browser is redirected. */
export interface Landing {
  url: string
  /** Set if the response is stored until the user has signed in. */
  waiting?: Secret
}

interface Answer {
  slug: string
  /** The query of the authorization response, as received. */
  query: Secret
  state: Secret | undefined
}

/** An authorization response and the flow that it belongs to. */
interface Answered {
  flow: ConnectFlow
  provider: Provider | undefined
  query: Secret
}

export async function receiveAnswer(
  needs: FinishConnectNeeds,
  user: User | undefined,
  { slug, query, state }: Answer,
  requestId: string,
): Promise<Landing> {
  const { config, database, connectFlows, providers, clock } = needs
  const flow = state && (await database.transaction((tx) => connectFlows.consumeState(tx, state, clock())))
  const provider = flow && (await providers.find(database.queries, flow.providerId))
  if (!flow || provider?.slug !== slug) return end(needs, '/', { error: 'invalid_state' })
  if (user) return complete(needs, user, { flow, provider, query }, requestId)
  const waiting = mintToken('connect')
  await database.transaction((tx) => connectFlows.keepAnswer(tx, flow, waiting, query))
  return { url: landing(config.baseUrl, '/', { connect: 'waiting' }), waiting }
}

/** The user has signed in, in the browser that brought the authorization response. */
export async function resumeConnect(
  needs: FinishConnectNeeds,
  user: User,
  waiting: Secret | undefined,
  requestId: string,
): Promise<Landing> {
  const { database, connectFlows, providers, clock } = needs
  const kept = waiting && (await database.transaction((tx) => connectFlows.takeAnswer(tx, waiting, clock())))
  if (!kept) return end(needs, '/', { error: 'invalid_state' })
  const provider = await providers.find(database.queries, kept.flow.providerId)
  return complete(needs, user, { flow: kept.flow, provider, query: kept.answer }, requestId)
}

async function complete(
  needs: FinishConnectNeeds,
  user: User,
  answered: Answered,
  requestId: string,
): Promise<Landing> {
  const { flow } = answered
  const { audit, database, clock } = needs
  const isTheirs = user.userId === flow.userId
  try {
    if (!isTheirs) throw new ConnectFailed('wrong_user')
    const { connectionId } = await connect(needs, answered, requestId)
    return end(needs, flow.redirectAfter, { connection_id: connectionId })
  } catch (error) {
    const { code } = toConnectFailed(error)
    needs.log.info({ err: error, flow_id: flow.flowId }, 'connecting an account failed')
    const detail = { flow_id: flow.flowId, provider_id: flow.providerId, code }
    // Audited for the user who started the flow. Another user's browser gets only the error code.
    await audit.append(database.queries, {
      event: 'connection.refused',
      at: clock(),
      requestId,
      userId: flow.userId,
      detail,
    })
    return end(needs, isTheirs ? flow.redirectAfter : '/', { error: code })
  }
}

async function connect(
  needs: FinishConnectNeeds,
  { flow, provider, query }: Answered,
  requestId: string,
): Promise<Connection> {
  const { config, database, oauth, providers, clock } = needs
  if (provider?.status !== 'active') throw new ConnectFailed('provider_disabled')
  const client = await clientOf(providers, database.queries, provider)
  const callback = new URL(redirectUri(config.baseUrl, provider.slug))
  callback.search = query.reveal()
  const checks = {
    state: new Secret(callback.searchParams.get('state') ?? ''),
    verifier: flow.verifier,
    nonce: flow.nonce ?? undefined,
  }
  const tokens = await oauth.endCode(client, callback, checks)
  const account = await identifyAccount(needs, provider, client, tokens)
  const { userId, providerId, connectionId, scopes } = flow
  const consent = { userId, providerId, connectionId, scopes, tokens, account, requestId }
  return database.transaction((tx) => keepConnection(needs, tx, consent, clock()))
}

/** How RFC 6749 §5.2, GitHub and Slack report a code that was used already or has expired. */
const spentCode = new Set(['invalid_grant', 'bad_verification_code', 'invalid_code', 'code_already_used'])

/** Distinguishes only errors of RFC 6749 §4.1.2.1 and §5.2 that the user can act on. The log has the others. */
function toConnectFailed(error: unknown): ConnectFailed {
  if (error instanceof ConnectFailed) return error
  if (error instanceof OAuthRefused) {
    if (error.code === 'access_denied') return new ConnectFailed('access_denied')
    return new ConnectFailed(spentCode.has(error.code) ? 'token_refused' : 'provider_error')
  }
  if (error instanceof OAuthAnswerInvalid) return new ConnectFailed('invalid_response')
  if (isUnavailable(error)) return new ConnectFailed('provider_unavailable')
  // The session ended during the requests to the provider.
  if (error instanceof ServiceError && error.code === 'unauthenticated') return new ConnectFailed('invalid_state')
  throw error
}

function end({ config }: FinishConnectNeeds, path: string, result: Record<string, string>): Landing {
  return { url: landing(config.baseUrl, path, result) }
}
