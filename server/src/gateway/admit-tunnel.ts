/** Admits a tunnel, or a single request to a host: who asks, for what, and how often. Refusals are put on record. */
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Standing } from '../grants/standing.ts'
import type { StandingStore } from '../grants/standing-store.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Asked } from '../platform/http/tunnels/tunnel-listener.ts'
import { hostOf } from '../platform/http/tunnels/tunnel-target.ts'
import type { TunnelTarget } from '../platform/http/tunnels/tunnel-target.ts'
import type { Secret } from '../platform/secret.ts'
import type { ProviderStore } from '../providers/provider-store.ts'
import { suggestedAccess, withSuggestedAccess } from '../proxy/suggested-access.ts'
import type { Refusals } from '../proxy/refusals.ts'
import type { Route } from '../proxy/upstream.ts'
import type { IdentifyTool } from '../tool-keys/identify.ts'
import type { CallingTool } from '../tool-keys/tool-key.ts'
import type { Leaves } from './leaves.ts'
import { whyNotOpened } from './opened-hosts.ts'
import type { Candidate } from './opened-hosts.ts'
import type { TunnelLimits } from './tunnel-limits.ts'

export interface AdmitTunnelNeeds {
  config: Pick<Config, 'baseUrl'>
  database: Database
  identifyTool: IdentifyTool
  standings: StandingStore
  routeOf: (standing: Standing) => Route
  providers: Pick<ProviderStore, 'findByHost'>
  refusals: Refusals
  limits: TunnelLimits
  leaves: Leaves
  clock: Clock
  onRefused: (error: ServiceError) => void
}

export interface AdmittedTool {
  tool: CallingTool
  keySecret: Secret
  target: TunnelTarget
  leave: () => void
}

export async function admitTunnel(needs: AdmitTunnelNeeds, asked: Asked): Promise<AdmittedTool> {
  const { credential, address } = asked
  const tool = credential && (await needs.identifyTool(credential, address))
  if (!tool) {
    const error = notIdentified()
    needs.onRefused(error)
    throw error
  }
  try {
    return { tool, keySecret: credential, ...(await admitTool(needs, tool, asked)) }
  } catch (error) {
    if (error instanceof ServiceError) await recordRefusal(needs, tool, error, askedFor(asked))
    throw error
  }
}

async function admitTool(
  needs: AdmitTunnelNeeds,
  tool: CallingTool,
  { way, target, scheme }: Asked,
): Promise<Pick<AdmittedTool, 'target' | 'leave'>> {
  const { limits, leaves } = needs
  const { agentId } = tool.agent
  const isTunnel = way === 'tunnel'
  if (isTunnel) limits.takeConnect(agentId)
  if (scheme !== 'https') throw invalidUrl('The gateway takes https only. Use an https URL.')
  if (!target) throw invalidUrl('The gateway takes a host in lower case with its port, such as api.example.com:443.')
  try {
    await assertOpened(needs, tool, target)
  } catch (error) {
    // Single requests have the limits of calls. Not these, which are no calls.
    if (!isTunnel) limits.takeConnect(agentId)
    throw error instanceof ServiceError ? await withSuggestion(needs, error, target) : error
  }
  if (!isTunnel) return { target, leave: () => undefined }
  if (!leaves.isCached(target.host)) limits.takeName(agentId)
  return { target, leave: limits.enter(agentId) }
}

function askedFor({ requestId, target }: Asked): RefusedAsk {
  return { requestId, method: 'CONNECT', host: target ? hostOf(target) : '' }
}

type OpenedNeeds = Pick<AdmitTunnelNeeds, 'config' | 'clock' | 'database' | 'standings' | 'routeOf'>

/** Throws unless one of the key's grants opens this host now. */
export async function assertOpened(
  { config, clock, database, standings, routeOf }: OpenedNeeds,
  { agent: { agentId }, key }: Pick<CallingTool, 'agent' | 'key'>,
  target: TunnelTarget,
): Promise<void> {
  const candidates: Candidate[] = []
  for (const grantId of key.grantIds) {
    const standing = await standings.find(database.queries, agentId, grantId)
    if (standing) candidates.push({ standing, route: standing.connection ? routeOf(standing) : undefined })
  }
  const refusal = whyNotOpened(candidates, { target, ownHost: config.baseUrl.hostname, now: clock() })
  if (refusal) throw refusal
}

/** The same refusal, with the access to ask for. */
async function withSuggestion(
  { database, providers }: AdmitTunnelNeeds,
  error: ServiceError,
  target: TunnelTarget,
): Promise<ServiceError> {
  const url = new URL(`https://${hostOf(target)}/`)
  const destination = { url, host: url.host, path: url.pathname, queryNames: [] }
  const provider = await providers.findByHost(database.queries, url.host)
  return withSuggestedAccess(error, suggestedAccess(error, provider, { destination, method: 'GET' }))
}

/** What was asked for, in the words of a refused call's record. */
export interface RefusedAsk {
  requestId: string
  method: string
  host: string
}

export async function recordRefusal(
  { refusals, onRefused }: Pick<AdmitTunnelNeeds, 'refusals' | 'onRefused'>,
  { agent: { agentId }, address }: Pick<CallingTool, 'agent' | 'address'>,
  error: ServiceError,
  { requestId, method, host }: RefusedAsk,
): Promise<void> {
  onRefused(error)
  await refusals.record({ agentId, address, code: error.code, requestId, facts: { method, host, path: '', query: [] } })
}

function invalidUrl(message: string): ServiceError {
  return new ServiceError('invalid_url', { message })
}

function notIdentified(): ServiceError {
  const message = 'The gateway needs a key for tools that has not ended: as password of the proxy, or as Bearer token.'
  return new ServiceError('unauthenticated', { message })
}
