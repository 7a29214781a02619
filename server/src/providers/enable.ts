import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { hasOAuth2 } from './auth-method.ts'
import { metadataOf } from './provider.ts'
import type { Provider } from './provider.ts'
import type { ProviderStore } from './provider-store.ts'

export interface EnableNeeds {
  database: Database
  providers: ProviderStore
  audit: AuditWriter
  clock: Clock
}

/** From the next call on, no account can be connected and none of its tokens is used. Idempotent. */
export function disableProvider(needs: EnableNeeds, providerId: string, requestId: string): Promise<Provider> {
  return change(needs, needs.providers.disable, { event: 'provider.disabled', providerId, requestId })
}

/** It becomes active, or pending if it needs a client and has none. Refused if it has no endpoints. */
export async function enableProvider(needs: EnableNeeds, providerId: string, requestId: string): Promise<Provider> {
  const found = await needs.providers.find(needs.database.queries, providerId)
  if (found && hasOAuth2(found)) metadataOf(found)
  return change(needs, needs.providers.enable, { event: 'provider.enabled', providerId, requestId })
}

function change(
  { database, providers, audit, clock }: EnableNeeds,
  write: (tx: Queries, providerId: string, now: Date) => Promise<Provider | undefined>,
  {
    event,
    providerId,
    requestId,
  }: { event: 'provider.disabled' | 'provider.enabled'; providerId: string; requestId: string },
): Promise<Provider> {
  return database.transaction(async (tx) => {
    const at = clock()
    const changed = await write(tx, providerId, at)
    const provider = changed ?? (await providers.find(tx, providerId))
    if (!provider) throw new ServiceError('not_found')
    const detail = { provider_id: providerId, slug: provider.slug, status: provider.status }
    if (changed) await audit.append(tx, { event, at, requestId, detail })
    return provider
  })
}
