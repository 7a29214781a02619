/**
 * Opens a request again that ended without access, or whose access has ended: a new one with the same terms, for this
 * user to decide. The agent is not asked, as it has asked already. What it was told stays true: a request that was
 * denied or has expired never becomes pending again.
 */
import type { AgentStore } from '../agents/agent-store.ts'
import type { AuditWriter } from '../audit/audit-log.ts'
import { coversHostPattern } from '../grants/grant.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import { statusOf as grantStatusOf } from '../grants/usable.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { perHour, takeFromLimit } from '../platform/limits/rate-limits.ts'
import type { Provider } from '../providers/provider.ts'
import type { ProviderStore } from '../providers/provider-store.ts'
import type { User } from '../sessions/user.ts'
import { lifetimeMs, mayDecide, statusOf } from './access-request.ts'
import type { AccessRequest } from './access-request.ts'
import type { AccessRequestStore } from './access-request-store.ts'

export interface RenewNeeds {
  database: Database
  agents: AgentStore
  providers: ProviderStore
  grants: GrantStore
  accessRequests: AccessRequestStore
  audit: AuditWriter
  clock: Clock
}

type Terms = Pick<AccessRequest, 'hosts' | 'methods' | 'paths' | 'maxCalls'>

const renewalsPerHour = 30

export async function renewAccessRequest(
  needs: RenewNeeds,
  user: User,
  accessRequestId: string,
  requestId: string,
): Promise<AccessRequest> {
  const { database, accessRequests, audit, clock } = needs
  const { userId } = user
  return database.transaction(async (tx) => {
    const now = clock()
    // Locked, so that of several at once one creates a request, and the others return it.
    const ended = await accessRequests.lock(database, tx, accessRequestId)
    if (!ended || !mayDecide(ended, user)) throw new ServiceError('not_found')
    const asked = await termsOf(needs, tx, ended, userId, now)
    const provider = await activeProvider(needs, tx, ended)
    const terms = { ...asked, hosts: asked.hosts && withinProvider(asked.hosts, provider) }
    const waiting = await accessRequests.findWaiting(tx, { ...ended, ...terms, userId }, now)
    if (waiting) return waiting
    await takeFromLimit(tx, `renewals:${userId}`, perHour(renewalsPerHour), now)
    const { agentId, providerId, userHint, reason } = ended
    const renewed: AccessRequest = {
      ...{ accessRequestId: newId('arq', now), agentId, providerId, userHint, userId, reason, ...terms },
      ...{ status: 'pending', createdAt: now, expiresAt: new Date(now.getTime() + lifetimeMs) },
      ...{ decidedAt: null, decidedBy: null, decidedOn: null, denialReason: null, grantId: null },
    }
    await accessRequests.insert(tx, renewed)
    const detail = { access_request_id: renewed.accessRequestId, provider: provider.slug, by: 'user' }
    await audit.append(tx, { event: 'access_request.created', at: now, requestId, agentId, userId, detail })
    return renewed
  })
}

/** Of the grant, where there was one: renewing it must not widen it. */
async function termsOf(
  { grants }: RenewNeeds,
  tx: Queries,
  request: AccessRequest,
  userId: string,
  now: Date,
): Promise<Terms> {
  const status = statusOf(request, now)
  if (status === 'pending') throw new ServiceError('conflict', { message: 'This request is still pending. Decide it.' })
  if (status === 'cancelled') {
    throw new ServiceError('conflict', { message: 'The agent cancelled this request. It can ask again.' })
  }
  if (status !== 'approved') {
    const { hosts, methods, paths, maxCalls } = request
    return { hosts, methods, paths, maxCalls }
  }
  const grant = request.grantId === null ? undefined : await grants.findOfUser(tx, userId, request.grantId)
  if (!grant) throw new ServiceError('conflict', { message: 'Another user approved this request.' })
  if (grantStatusOf(grant, now) === 'active') {
    throw new ServiceError('conflict', { message: 'This access has not ended. Change its grant instead.' })
  }
  const { allowedHosts: hosts, allowedMethods: methods, allowedPaths: paths, maxCalls } = grant
  return { hosts, methods, paths, maxCalls }
}

async function activeProvider(
  { database, agents, providers }: RenewNeeds,
  tx: Queries,
  { agentId, providerId }: AccessRequest,
): Promise<Provider> {
  if ((await agents.find(tx, agentId))?.disabledAt !== null) {
    throw new ServiceError('conflict', { message: 'The agent that requested access is disabled.' })
  }
  const provider = providerId === null ? undefined : await providers.lock(database, tx, providerId)
  if (provider?.status !== 'active')
    throw new ServiceError('conflict', { message: 'The provider is no longer active.' })
  return provider
}

/** The provider may have lost hosts since. */
function withinProvider(hosts: readonly string[], { apiHosts }: Provider): string[] {
  const left = hosts.filter((host) => apiHosts.some((one) => coversHostPattern(one, host)))
  if (left.length > 0) return left
  throw new ServiceError('conflict', {
    message: 'The provider no longer has any of these hosts. The agent can ask again.',
  })
}
