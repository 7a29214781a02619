/**
 * Bounds what anyone can make the service store. Every route that writes for agents, or for callers without a
 * credential, is in this table with what one call stores at most; a route that is missing stops the start. The bytes are
 * taken before the call and given back if it is refused. Proxied calls have a budget of their own
 * (proxy/record-budget.ts), people none.
 */
import { addressesPerWideBlock, dayMs, ownShare, unapprovedShares } from './agents/unapproved-shares.ts'
import type { Actor } from './authenticate.ts'
import type { Config } from './config/config.ts'
import { setBounded } from './platform/cache/memoize.ts'
import type { Database, Queries } from './platform/database/database.ts'
import { ServiceError } from './platform/errors.ts'
import type { Http } from './platform/http/http.ts'
import { addressBlock } from './platform/limits/client-address.ts'
import type { StorageShare } from './platform/limits/storage-limits.ts'
import { createRecordBudget } from './proxy/record-budget.ts'
import type { BudgetNeeds, RecordBudget } from './proxy/record-budget.ts'

interface Needs extends BudgetNeeds {
  config: Config
  database: Database
  isApproved: (queries: Queries, agentId: string) => Promise<boolean>
}

interface Stored {
  /** Rows, records and limits, with their indexes, besides what the body says. */
  bytes: number
  /** The body is stored too. */
  withBody?: true
  /** It is deleted within minutes: only how much of it there is at a time is limited. */
  isShortLived?: true
  /** A record of the legacy protocol, whose values have quotas of their own. */
  isV1Record?: true
  /** A refused call stores as much. */
  evenIfRefused?: true
}

const nothing: Stored = { bytes: 0 }

const storedBy: Readonly<Record<string, Stored>> = {
  'POST /v4/agents/register': { bytes: 2000, withBody: true },
  'POST /v4/agents/rotate-token': { bytes: 800 },
  'POST /v4/access-requests': { bytes: 4500, withBody: true },
  'POST /v4/access-requests/:id/cancel': { bytes: 800 },
  'POST /v4/calls/:id/cancel': { bytes: 800 },
  'POST /v4/grants/:id/revoke': { bytes: 800 },
  'POST /v4/sandbox/start': { bytes: 2000 },
  'POST /v4/providers/proposals': { bytes: 4000, withBody: true },
  'POST /v4/devices/pair': { bytes: 400, isShortLived: true, evenIfRefused: true },
  'GET /v4/auth/login/:id': { bytes: 2500, isShortLived: true },
  'POST /v1/authai/register': { bytes: 5000, withBody: true },
  'POST /v1/authai/rotate-key': { bytes: 3000, withBody: true },
  'POST /v1/authai/refresh': { bytes: 1200, isV1Record: true },
  'POST /v1/kv/save': { bytes: 1200, isV1Record: true },
  'POST /v1/kv/read': { bytes: 1200, isV1Record: true },
  // Its own budget.
  'POST /v4/proxy': nothing,
  // Only for grants that a user approved, with a rate of its own.
  'POST /v4/agents/keys': nothing,
  'DELETE /v4/agents/keys/:id': nothing,
  // Only with a token that an admin has issued.
  'POST /v4/auth/login': nothing,
  'POST /v4/auth/login/preview': nothing,
}

/** The sandbox's echo answers every method and stores nothing. */
const storesNothing = new Set(['/v4/sandbox/echo'])
const shortLivedMs = 20 * 60_000

declare module 'fastify' {
  interface FastifyRequest {
    spentStorage?: { shares: readonly StorageShare[]; bytes: number }
  }
}

/** Register it after authentication and before the routes. Returns the budget of proxied calls. */
export function limitStorage(http: Http, needs: Needs): RecordBudget {
  const { config, database, storageLimits, isApproved } = needs
  /** Agents stay approved for good. */
  const approved = new Map<string, true>()
  const isKnown = async (agentId: string): Promise<boolean> => {
    if (approved.has(agentId)) return true
    const isNow = await isApproved(database.queries, agentId)
    if (isNow) setBounded(approved, agentId, true)
    return isNow
  }

  http.addHook('onRoute', ({ url, method, config: { allow = [] } = {} }) => {
    const isForAnyone = allow === 'anyone' || allow.includes('agent')
    if (!/^\/v\d/.test(url) || !isForAnyone || storesNothing.has(url)) return
    for (const one of [method].flat()) {
      if (['GET', 'HEAD'].includes(one) || storedBy[`${one} ${url}`]) continue
      throw new Error(`unapproved-storage.ts does not say what ${one} ${url} stores`)
    }
  })

  http.addHook('preHandler', async (request) => {
    const { method, url = '' } = request.routeOptions
    const stored = storedBy[`${String(method)} ${url}`]
    if (!stored || stored.bytes === 0) return
    const shares = await sharesOf(request, stored)
    if (shares.length === 0) return
    const bytes = stored.bytes + (stored.withBody ? Buffer.byteLength(JSON.stringify(request.body ?? '')) : 0)
    if (!(await storageLimits.trySpend(shares, bytes))) throw usedUp()
    if (!stored.evenIfRefused) request.spentStorage = { shares, bytes }
  })

  http.addHook('onResponse', ({ spentStorage }, { statusCode }, done) => {
    if (spentStorage && statusCode >= 400) storageLimits.giveBack(spentStorage.shares, spentStorage.bytes)
    done()
  })

  return createRecordBudget(needs)

  async function sharesOf(
    { actor, ip: address }: { actor?: Actor; ip: string },
    stored: Stored,
  ): Promise<StorageShare[]> {
    if (stored.isShortLived) {
      return [{ key: 'short-lived', maxBytes: config.unapprovedBytesPerDay / 4, refillMs: shortLivedMs }]
    }
    if (stored.isV1Record) return config.v1Registration === 'closed' ? [] : v1Shares(config, address)
    if (!actor) return unapprovedShares(config, 'requests', { address })
    if (actor.kind !== 'agent') return []
    const { agentId } = actor.agent
    return (await isKnown(agentId))
      ? ownShare(config, 'requests', agentId)
      : unapprovedShares(config, 'requests', { agentId, address })
  }
}

function v1Shares(
  { v1RecordBytesPerAddressDay: perAddress, v1RecordBytesPerDay }: Config,
  address: string,
): StorageShare[] {
  const { narrow, wide } = addressBlock(address)
  const share = (name: string, maxBytes: number) => ({ key: `v1-records:${name}`, maxBytes, refillMs: dayMs })
  return [
    share(narrow, perAddress),
    ...(wide === undefined ? [] : [share(wide, addressesPerWideBlock * perAddress)]),
    share('all', v1RecordBytesPerDay),
  ]
}

function usedUp(): ServiceError {
  const message = 'The daily storage limit for callers that no user has approved is reached. Try again later.'
  return new ServiceError('rate_limited', { retryAfterSeconds: 600, message })
}
