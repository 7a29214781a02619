import type { Agent } from '../agents/agent.ts'
import type { AuditWriter } from '../audit/audit-log.ts'
import { judgeCallbackUrl, mintCallbackSecret } from '../callbacks/callback.ts'
import type { CallbackStore } from '../callbacks/callback-store.ts'
import { readMethods } from '../grants/grant.ts'
import { readPathPatterns } from '../grants/path-pattern.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import type { Egress } from '../platform/egress/egress.ts'
import { ServiceError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { perHour, takeFromLimit } from '../platform/limits/rate-limits.ts'
import type { Secret } from '../platform/secret.ts'
import type { Provider } from '../providers/provider.ts'
import type { ProviderStore } from '../providers/provider-store.ts'
import { needsNoClient } from '../providers/offered-preset.ts'
import { findPreset } from '../providers/presets/catalogue.ts'
import { sandboxSlug } from '../providers/slug.ts'
import { normaliseEmail } from '../sessions/user.ts'
import type { User } from '../sessions/user.ts'
import type { UserStore } from '../sessions/user-store.ts'
import { lifetimeMs } from './access-request.ts'
import type { AccessRequest } from './access-request.ts'
import type { AccessRequestStore } from './access-request-store.ts'
import { ofProvider, readHostsWithin } from './decision.ts'
import { notify } from './notify.ts'
import type { NotifyNeeds } from './notify.ts'
import { approveSandboxRequest, assertWithinSandbox } from './sandbox-request.ts'
import type { SandboxRequestNeeds } from './sandbox-request.ts'

export interface CreateNeeds extends NotifyNeeds, SandboxRequestNeeds {
  config: NotifyNeeds['config'] &
    Pick<Config, 'baseUrl' | 'accessRequestsPending' | 'accessRequestsPerHour' | 'userPresets'>
  database: Database
  egress: Egress
  providers: ProviderStore
  users: UserStore
  accessRequests: AccessRequestStore
  callbacks: CallbackStore
  audit: AuditWriter
  clock: Clock
}

export interface Wanted {
  provider: string
  hosts: string[] | undefined
  methods: string[] | undefined
  paths: string[] | undefined
  maxCalls: number | undefined
  reason: string | undefined
  userHint: string | undefined
  callbackUrl: string | undefined
}

/**
 * Creates an access request. The response is the same whether or not the hint matches a user: an agent must not learn
 * who has an account.
 */
export async function createAccessRequest(
  needs: CreateNeeds,
  agent: Agent,
  wanted: Wanted,
  requestId: string,
): Promise<{ request: AccessRequest; callbackSecret: Secret | undefined }> {
  const { config, database, egress, accessRequests, callbacks, audit, clock } = needs
  const { agentId } = agent
  const callbackUrl = wanted.callbackUrl === undefined ? undefined : judgeCallbackUrl(egress, wanted.callbackUrl)
  const callbackSecret = callbackUrl && mintCallbackSecret()
  const methods = wanted.methods ? readMethods(wanted.methods, 'methods') : null
  const paths = wanted.paths ? readPathPatterns(wanted.paths, 'paths') : null

  const request = await database.transaction(async (tx) => {
    const now = clock()
    const provider = await activeProvider(needs, tx, wanted.provider)
    if (!provider) assertWithinSandbox(config.baseUrl, { hosts: wanted.hosts, paths })
    const hosts =
      wanted.hosts && provider
        ? readHostsWithin(wanted.hosts, provider.apiHosts, 'hosts', ofProvider)
        : (wanted.hosts ?? null)
    // This locks the bucket's row until the transaction ends, so an agent's requests are counted one at a time.
    await takeFromLimit(tx, `access-requests:${agentId}`, perHour(config.accessRequestsPerHour), now)
    if ((await accessRequests.countPending(tx, agentId, now)) >= config.accessRequestsPending) throw tooManyPending()
    const user = wanted.userHint === undefined || !provider ? undefined : await hinted(needs.users, tx, wanted.userHint)
    const created: AccessRequest = {
      accessRequestId: newId('arq', now),
      agentId,
      providerId: provider?.providerId ?? null,
      userHint: wanted.userHint ?? null,
      userId: user?.userId ?? null,
      hosts,
      methods,
      paths,
      maxCalls: wanted.maxCalls ?? null,
      reason: wanted.reason ?? null,
      status: 'pending',
      createdAt: now,
      expiresAt: new Date(now.getTime() + lifetimeMs),
      decidedAt: null,
      decidedBy: null,
      decidedOn: null,
      denialReason: null,
      grantId: null,
    }
    await accessRequests.insert(tx, created)
    const { accessRequestId } = created
    if (callbackUrl && callbackSecret) {
      const callback = { accessRequestId, agentId, url: callbackUrl, secret: callbackSecret, isSandbox: !provider, now }
      await callbacks.insert(tx, callback)
    }
    await audit.append(tx, {
      event: 'access_request.created',
      at: now,
      requestId,
      agentId,
      userId: user?.userId,
      detail: { access_request_id: accessRequestId, provider: provider?.slug ?? sandboxSlug },
    })
    if (!provider) return approveSandboxRequest(needs, tx, created, requestId, now)
    // Also runs when the hint matches no user: the response time must not reveal that.
    const { userHint } = created
    if (userHint !== null) {
      await notify(needs, tx, user?.userId ?? `nobody:${userHint}`, { request: created, agent, provider }, now)
    }
    return created
  })
  return { request, callbackSecret }
}

/** Undefined for the sandbox. A provider that had this slug before it was reserved takes precedence. */
async function activeProvider(
  { config, database, providers }: CreateNeeds,
  tx: Queries,
  slug: string,
): Promise<Provider | undefined> {
  const field = 'provider'
  const found = await providers.findBySlug(tx, slug)
  if (!found && slug === sandboxSlug) return undefined
  const provider = found && (await providers.lock(database, tx, found.providerId))
  if (!provider) {
    const preset = config.userPresets === 'on' ? findPreset(slug) : undefined
    const message =
      preset && needsNoClient(preset)
        ? `No account at ${preset.name} is connected to this service yet. Ask the person to connect one at ${config.baseUrl.origin}/connections, then request access again.`
        : 'No provider has this slug. GET /v4/providers lists the available ones.'
    throw new ServiceError('not_found', { field, message })
  }
  if (provider.status !== 'active') {
    throw new ServiceError('conflict', {
      field,
      message: 'This provider is not active, so accounts cannot be connected.',
    })
  }
  return provider
}

/**
 * The user with this id, or with this email address if an admin set it or a provider verified it. Both lookups always
 * run.
 */
async function hinted(users: UserStore, tx: Queries, hint: string): Promise<User | undefined> {
  const byId = await users.find(tx, hint)
  const byEmail = await users.findByEmail(tx, normaliseEmail(hint))
  const user = byId ?? byEmail
  return user?.disabledAt ? undefined : user
}

function tooManyPending(): ServiceError {
  return new ServiceError('rate_limited', {
    message: 'Too many of your access requests are pending. Cancel some, or wait.',
    retryAfterSeconds: 3600,
  })
}
