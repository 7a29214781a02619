/**
 * An admin sets all endpoints of a proposal that lacks some. They are checked like those of a proposal, because it is
 * still a provider that an agent proposed, whose addresses stay untrusted. Endpoints can be set only once.
 */
import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { defaultApiHosts } from './api-hosts.ts'
import { describe } from './find-metadata.ts'
import type { FindMetadataNeeds, MetadataInput } from './find-metadata.ts'
import { askProvider, urlsGiven } from './propose.ts'
import { hasOAuth2 } from './auth-method.ts'
import { metadataOf } from './provider.ts'
import type { Provider } from './provider.ts'
import type { ProviderStore } from './provider-store.ts'
import { registerClient } from './register-client.ts'
import type { RegisterClientNeeds } from './register-client.ts'
import { assertOneSite } from './site.ts'

export interface SetEndpointsNeeds extends FindMetadataNeeds, RegisterClientNeeds {
  database: Database
  providers: ProviderStore
  audit: AuditWriter
  clock: Clock
}

export async function setEndpoints(
  needs: SetEndpointsNeeds,
  providerId: string,
  input: MetadataInput,
  requestId: string,
): Promise<Provider> {
  const { database, providers, audit, clock } = needs
  const found = withoutEndpoints(await providers.find(database.queries, providerId))
  // The admin's endpoints replace the agent's: tokens must not go to an address that the admin did not name.
  const description = describe(needs, input, 'stranger')
  assertOneSite(urlsGiven(description))
  const metadata = await askProvider(needs, description)
  const { client, error } = await registerClient(needs, { ...found, metadata }, 'stranger')
  return database.transaction(async (tx) => {
    const before = withoutEndpoints(await providers.lock(database, tx, providerId, 'for update'))
    const at = clock()
    const provider: Provider = {
      ...before,
      metadata,
      discoveryUrl: description.discoveryUrl,
      // Keep hosts that an admin has set in the meantime.
      apiHosts: before.apiHosts.length > 0 ? before.apiHosts : defaultApiHosts(metadata),
      registrationError: error,
      updatedAt: at,
    }
    await providers.setEndpoints(tx, provider)
    const activated = client && (await providers.setCredentials(tx, providerId, client, at))
    const { slug, status } = activated ?? provider
    const detail = { provider_id: providerId, slug, status, registration_error: error, issuer: metadata.issuer }
    await audit.append(tx, { event: 'provider.updated', at, requestId, detail })
    return activated ?? provider
  })
}

function withoutEndpoints(provider: Provider | undefined): Provider {
  if (!provider) throw new ServiceError('not_found')
  if (!hasOAuth2(provider)) metadataOf(provider)
  if (provider.metadata.issuer === undefined) return provider
  const message = 'This provider already has endpoints, which cannot be changed. Create another provider instead.'
  throw new ServiceError('conflict', { message })
}
