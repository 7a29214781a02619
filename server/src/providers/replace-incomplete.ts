import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Queries } from '../platform/database/database.ts'
import type { ProviderStore } from './provider-store.ts'

interface ReplaceIncompleteNeeds {
  providers: ProviderStore
  audit: AuditWriter
  clock: Clock
}

/** Deletes a proposal without endpoints that has this slug, in the transaction that adds a provider with it. */
export async function replaceIncomplete(
  { providers, audit, clock }: ReplaceIncompleteNeeds,
  tx: Queries,
  slug: string,
  requestId: string,
): Promise<void> {
  const dropped = await providers.dropIncomplete(tx, slug)
  for (const providerId of dropped) {
    const detail = { provider_id: providerId, slug }
    await audit.append(tx, { event: 'provider.deleted', at: clock(), requestId, detail })
  }
}
