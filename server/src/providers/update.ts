/**
 * An admin changes a provider. Grants keep the hosts that their users approved: none of them covers a host that is
 * added here, and a host that is removed is refused from the next call on.
 */
import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import type { Egress } from '../platform/egress/egress.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Provider } from './provider.ts'
import type { ProviderStore } from './provider-store.ts'
import { assertTenantsAreNamed, readProviderHosts } from './tenant-hosts.ts'

export interface UpdateProviderNeeds {
  database: Database
  egress: Pick<Egress, 'judgeUrl'>
  providers: ProviderStore
  audit: AuditWriter
  clock: Clock
}

/** Undefined members don't change. */
export interface ProviderChanges {
  name: string | undefined
  scopes: string[] | undefined
  apiHosts: string[] | undefined
  /** Refuses the change if the provider was changed since that time. */
  ifUpdatedAt: Date | undefined
}

export async function updateProvider(
  { database, egress, providers, audit, clock }: UpdateProviderNeeds,
  providerId: string,
  { name, scopes, apiHosts, ifUpdatedAt }: ProviderChanges,
  requestId: string,
): Promise<Provider> {
  if (name === undefined && scopes === undefined && apiHosts === undefined) {
    const message = 'Nothing to change. Set "provider_name", "scopes" or "api_hosts".'
    throw new ServiceError('missing_field', { field: 'api_hosts', message })
  }
  const hosts = apiHosts && readProviderHosts(apiHosts)
  return database.transaction(async (tx) => {
    const before = await providers.lock(database, tx, providerId, 'for update')
    if (!before) throw new ServiceError('not_found')
    if (ifUpdatedAt && ifUpdatedAt.getTime() !== before.updatedAt.getTime()) {
      const message = 'The provider has changed since you read it. Read it again, then repeat your change.'
      throw new ServiceError('conflict', { field: 'if_updated_at', message })
    }
    if (apiHosts) {
      assertTenantsAreNamed(apiHosts, before.authMethods)
      assertReachable(egress, before, apiHosts)
    }
    const wanted = {
      name: name ?? before.name,
      scopes: scopes ?? before.scopes,
      apiHosts: hosts ?? before.apiHosts,
    }
    const changes = differences(before, wanted)
    if (!changes) return before
    // Never the same time twice, or `if_updated_at` would miss a change within the same millisecond.
    const at = new Date(Math.max(clock().getTime(), before.updatedAt.getTime() + 1))
    const provider = { ...before, ...wanted, updatedAt: at }
    await providers.update(tx, provider)
    const detail = { provider_id: providerId, slug: before.slug, ...changes }
    await audit.append(tx, { event: 'provider.updated', at: clock(), requestId, detail })
    return provider
  })
}

/** Hosts of a proposed provider always count as untrusted: refuse now what the egress would refuse at every call. */
function assertReachable(egress: Pick<Egress, 'judgeUrl'>, { source, apiHosts }: Provider, wanted: readonly string[]) {
  if (source !== 'proposal') return
  for (const [index, entry] of wanted.entries()) {
    if (apiHosts.includes(entry)) continue
    egress.judgeUrl(new URL(`https://${entry.replace(/^\*\./, '')}/`), 'stranger', `api_hosts.${index}`)
  }
}

type Wanted = Pick<Provider, 'name' | 'scopes' | 'apiHosts'>

/** The old and new values of each member that differs. Undefined if none does. */
function differences(before: Wanted, after: Wanted) {
  const members = [
    ['provider_name', before.name, after.name],
    ['scopes', before.scopes, after.scopes],
    ['api_hosts', before.apiHosts, after.apiHosts],
  ] as const
  const changed = members.filter(([, was, is]) => JSON.stringify(was) !== JSON.stringify(is))
  if (changed.length === 0) return undefined
  return {
    before: Object.fromEntries(changed.map(([member, was]) => [member, was])),
    after: Object.fromEntries(changed.map(([member, , is]) => [member, is])),
  }
}
