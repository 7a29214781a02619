import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { isSameIssuer } from '../platform/oauth/oauth-client.ts'
import type { Metadata } from '../platform/oauth/oauth-client.ts'
import { urlsOf } from './endpoints.ts'
import { discoverMetadata } from './find-metadata.ts'
import type { FindMetadataNeeds } from './find-metadata.ts'
import { presetMetadata } from './preset-metadata.ts'
import { findPreset } from './presets/catalogue.ts'
import { metadataOf } from './provider.ts'
import type { Provider } from './provider.ts'
import type { ProviderStore } from './provider-store.ts'
import { assertOneSite } from './site.ts'

export interface RediscoverNeeds extends FindMetadataNeeds {
  database: Database
  providers: ProviderStore
  audit: AuditWriter
  clock: Clock
}

/** Reloads the pinned metadata. Members that are not found stay unchanged, and so do issuer, client and hosts. */
export async function rediscoverProvider(
  needs: RediscoverNeeds,
  providerId: string,
  requestId: string,
): Promise<Provider> {
  const { database, providers, audit, clock } = needs
  const before = await providers.find(database.queries, providerId)
  if (!before) throw new ServiceError('not_found')
  const pinned = metadataOf(before)
  const found = presetFor(before.preset, pinned) ?? (await discoverFor(needs, before, pinned))
  const metadata = { ...pinned, ...found, issuer: pinned.issuer }
  if (before.source === 'proposal') assertOneSite(urlsOf(metadata))
  return database.transaction(async (tx) => {
    const at = clock()
    const provider = await providers.setMetadata(tx, providerId, metadata, at)
    if (!provider) throw new ServiceError('not_found')
    const detail = { provider_id: providerId, slug: provider.slug, token_url: metadata.token_endpoint ?? null }
    await audit.append(tx, { event: 'provider.rediscovered', at, requestId, detail })
    return provider
  })
}

/** A preset's endpoints are part of this release. Those of another server have to be discovered. */
function presetFor(preset: string | null, metadata: Metadata): Metadata | undefined {
  const own = preset === null ? undefined : findPreset(preset)?.oauth
  return own?.issuerUrl === metadata.issuer ? presetMetadata(own) : undefined
}

async function discoverFor(
  needs: RediscoverNeeds,
  { source, discoveryUrl }: Provider,
  metadata: Metadata,
): Promise<Metadata> {
  const field = discoveryUrl === null ? 'issuer_url' : 'discovery_url'
  const url = new URL(discoveryUrl ?? metadata.issuer)
  const found = await discoverMetadata(needs, { url, field }, source === 'proposal' ? 'stranger' : 'operator')
  if (!isSameIssuer(found.issuer, metadata.issuer)) {
    throw new ServiceError('conflict', { message: 'The issuer has changed. Create a new provider for it.' })
  }
  return found
}
