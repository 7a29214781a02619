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
  /** Whether any account is still connected. */
  isConnected: (queries: Queries, providerId: string) => Promise<boolean>
}

/** Deletes first and checks afterwards: a concurrent new connection waits for the row lock, then finds no provider. */
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
