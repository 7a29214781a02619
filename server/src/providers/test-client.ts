/**
 * Tests an OAuth client before it is saved, or the stored one. Its credentials go to the token endpoint of a preset or of
 * a known provider, never to an address from the request.
 */
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { ClientCheck } from '../platform/oauth/check-client.ts'
import type { AuthMethod, OAuthClient } from '../platform/oauth/oauth-client.ts'
import type { OAuth } from '../platform/oauth/oauth.ts'
import type { Secret } from '../platform/secret.ts'
import type { Config } from '../config/config.ts'
import { readCredentials } from './client-credentials.ts'
import { clientOf, dialectOf } from './client-of.ts'
import { presetMetadata } from './preset-metadata.ts'
import { findPreset } from './presets/catalogue.ts'
import { redirectUri } from './provider.ts'
import type { ProviderStore } from './provider-store.ts'

export interface TestClientNeeds {
  config: Pick<Config, 'baseUrl'>
  database: Database
  oauth: OAuth
  providers: ProviderStore
}

export interface TestedClient {
  preset: string | undefined
  providerId: string | undefined
  /** Undefined for the stored client. */
  clientId: string | undefined
  clientSecret: Secret | undefined
  authMethod: AuthMethod | undefined
}

export async function testClient(needs: TestClientNeeds, tested: TestedClient): Promise<ClientCheck> {
  const { slug, client } = await (tested.providerId === undefined
    ? ofPreset(tested)
    : ofProvider(needs, tested.providerId, tested))
  return needs.oauth.checkClient(client, redirectUri(needs.config.baseUrl, slug))
}

interface Found {
  slug: string
  client: OAuthClient
}

async function ofPreset(tested: TestedClient): Promise<Found> {
  const preset = tested.preset === undefined ? undefined : findPreset(tested.preset)
  if (!preset?.oauth) {
    const message = 'There is no preset with OAuth of this name. Set "preset" to one, or "provider_id".'
    throw new ServiceError(tested.preset === undefined ? 'missing_field' : 'not_found', { field: 'preset', message })
  }
  const metadata = presetMetadata(preset.oauth)
  return {
    slug: preset.id,
    client: {
      metadata,
      ...given(tested, preset.oauth.tokenEndpointAuthMethod),
      dialect: dialectOf(preset.oauth, { metadata }),
      suppliedBy: 'operator',
    },
  }
}

async function ofProvider({ database, providers }: TestClientNeeds, id: string, tested: TestedClient): Promise<Found> {
  const provider = await providers.find(database.queries, id)
  if (!provider) throw new ServiceError('not_found', { field: 'provider_id' })
  if (tested.clientId === undefined) {
    return { slug: provider.slug, client: await clientOf(providers, database.queries, provider) }
  }
  // The stored secret belongs to the stored client, as when it is replaced.
  const isKept = !tested.clientSecret && tested.clientId === provider.clientId && tested.authMethod !== 'none'
  const clientSecret = isKept ? await providers.clientSecret(database.queries, id) : tested.clientSecret
  const credentials = given({ ...tested, clientSecret }, provider.authMethod)
  const stored = await clientOf(providers, database.queries, { ...provider, clientId: credentials.clientId })
  return { slug: provider.slug, client: { ...stored, ...credentials } }
}

function given({ clientId, clientSecret, authMethod }: TestedClient, usual: AuthMethod) {
  if (clientId === undefined) {
    throw new ServiceError('missing_field', { field: 'client_id', message: '"client_id" is missing. Add it.' })
  }
  return readCredentials({ clientId, clientSecret, authMethod }, usual)
}
