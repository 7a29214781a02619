import type { Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { plainDialect } from '../platform/oauth/dialect.ts'
import type { Dialect } from '../platform/oauth/dialect.ts'
import type { OAuthClient } from '../platform/oauth/oauth-client.ts'
import { findPreset } from './presets/catalogue.ts'
import type { PresetOAuth } from './presets/preset.ts'
import { metadataOf } from './provider.ts'
import type { Provider } from './provider.ts'
import type { ProviderStore } from './provider-store.ts'

/**
 * The OAuth client for a provider. URLs that an agent proposed stay untrusted, even once an admin has set credentials.
 */
export async function clientOf(providers: ProviderStore, queries: Queries, provider: Provider): Promise<OAuthClient> {
  const { clientId, authMethod, source } = provider
  if (clientId === null) throw new ServiceError('conflict', { message: 'This provider has no credentials yet.' })
  const preset = provider.preset === null ? undefined : findPreset(provider.preset)?.oauth
  return {
    metadata: metadataOf(provider),
    clientId,
    clientSecret: await providers.clientSecret(queries, provider.providerId),
    authMethod,
    dialect: preset ? dialectOf(preset, provider) : plainDialect,
    suppliedBy: source === 'proposal' ? 'stranger' : 'operator',
  }
}

/**
 * The preset's quirks. Its refresh URL applies only on its own server: another server's secret must not be sent there.
 */
export function dialectOf(preset: PresetOAuth, { metadata }: Pick<Provider, 'metadata'>): Dialect {
  const { refreshEndpoint, ...anywhere } = preset.dialect ?? plainDialect
  const isOwnServer = metadata.token_endpoint === preset.tokenUrl
  return { ...anywhere, ...(refreshEndpoint !== undefined && isOwnServer && { refreshEndpoint }) }
}
