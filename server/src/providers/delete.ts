import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Provider } from './provider.ts'
import type { ProviderStore } from './provider-store.ts'

export interface DeleteProviderNeeds {
  database: Database
  providers: ProviderStore
  audit: AuditWriter
  clock: Clock
  /** Whether somebody's account is still connected. */
  isConnected: (queries: Queries, providerId: string) => Promise<boolean>
}

/** Deleted first and looked at afterwards: a connection that is being made waits for the row, and then finds none. */
export async function deleteProvider(
  { database, providers, audit, clock, isConnected }: DeleteProviderNeeds,
  providerId: string,
  requestId: string,
): Promise<Provider> {
  return database.transaction(async (tx) => {
    const at = clock()
    const provider = await providers.delete(tx, providerId, at)
    if (!provider) throw new ServiceError('not_found')
    if (await isConnected(tx, providerId)) {
      throw new ServiceError('conflict', {
        message: 'Accounts are still connected. Disable the provider, or disconnect them first.',
      })
    }
    const detail = { provider_id: providerId, slug: provider.slug }
    await audit.append(tx, { event: 'provider.deleted', at, requestId, detail })
    return { ...provider, status: 'disabled', updatedAt: at }
  })
}
