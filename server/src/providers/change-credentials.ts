import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { AuthMethod } from '../platform/oauth/oauth-client.ts'
import type { Secret } from '../platform/secret.ts'
import { readCredentials } from './client-credentials.ts'
import { metadataOf } from './provider.ts'
import type { Provider } from './provider.ts'
import type { ProviderStore } from './provider-store.ts'

export interface ChangeCredentialsNeeds {
  database: Database
  providers: ProviderStore
  audit: AuditWriter
  clock: Clock
}

/**
 * Replaces the client. A provider without credentials becomes active. The stored secret belongs to the stored client:
 * it is kept if the client id stays the same, unless a new secret is given or none is to be sent. A provider without
 * endpoints is refused, because it would become active.
 */
export async function changeCredentials(
  { database, providers, audit, clock }: ChangeCredentialsNeeds,
  providerId: string,
  given: { clientId: string; clientSecret: Secret | undefined; authMethod: AuthMethod | undefined },
  requestId: string,
): Promise<Provider> {
  return database.transaction(async (tx) => {
    // Without the lock, a concurrent change could leave the client with another client's secret.
    const found = await providers.lock(database, tx, providerId, 'for update')
    if (!found) throw new ServiceError('not_found')
    metadataOf(found)
    const isKept = !given.clientSecret && given.clientId === found.clientId && given.authMethod !== 'none'
    const clientSecret = isKept ? await providers.clientSecret(tx, providerId) : given.clientSecret
    const credentials = readCredentials({ ...given, clientSecret }, found.authMethod)
    const at = clock()
    const provider = await providers.setCredentials(tx, providerId, credentials, at)
    if (!provider) throw new ServiceError('not_found')
    const { slug, status } = provider
    const detail = { provider_id: providerId, slug, status, client_id: credentials.clientId }
    await audit.append(tx, { event: 'provider.credentials_changed', at, requestId, detail })
    return provider
  })
}
