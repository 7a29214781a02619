import type { Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { plainDialect } from '../platform/oauth/dialect.ts'
import type { Dialect } from '../platform/oauth/dialect.ts'
import type { OAuthClient } from '../platform/oauth/oauth-client.ts'
import { findPreset } from './presets/catalogue.ts'
import type { Preset } from './presets/preset.ts'
import { metadataOf } from './provider.ts'
import type { Provider } from './provider.ts'
import type { ProviderStore } from './provider-store.ts'

/** What we are to this provider. An agent's addresses stay an agent's, also once an admin has given credentials. */
export async function clientOf(providers: ProviderStore, queries: Queries, provider: Provider): Promise<OAuthClient> {
  const { clientId, authMethod, source } = provider
  if (clientId === null) throw new ServiceError('conflict', { message: 'This provider has no credentials yet.' })
  const preset = provider.preset === null ? undefined : findPreset(provider.preset)
  return {
    metadata: metadataOf(provider),
    clientId,
    clientSecret: await providers.clientSecret(queries, provider.providerId),
    authMethod,
    dialect: preset ? dialectOf(preset, provider) : plainDialect,
    suppliedBy: source === 'proposal' ? 'stranger' : 'operator',
  }
}

/** The quirks of a preset. An address among them holds for its own server: another's secret must not go there. */
export function dialectOf(preset: Preset, { metadata }: Pick<Provider, 'metadata'>): Dialect {
  const { refreshEndpoint, ...anywhere } = preset.dialect ?? plainDialect
  const isOwnServer = metadata.token_endpoint === preset.tokenUrl
  return { ...anywhere, ...(refreshEndpoint !== undefined && isOwnServer && { refreshEndpoint }) }
}
