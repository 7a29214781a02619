import type { AuthMethodKind, AuthMethod as GivenMethod } from '@sallyport/protocol/auth-methods'
import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { AuthMethod, Metadata } from '../platform/oauth/oauth-client.ts'
import type { Secret } from '../platform/secret.ts'
import { defaultApiHosts } from './api-hosts.ts'
import { authKindOf } from './auth-kinds/auth-kind.ts'
import { hasFormMethod } from './auth-method.ts'
import { readAuthMethods } from './read-auth-methods.ts'
import { readAuthorizationParams, readInjection } from './calling.ts'
import { readCredentials } from './client-credentials.ts'
import { endpointFields } from './endpoints.ts'
import { completeMetadata, describe } from './find-metadata.ts'
import type { FindMetadataNeeds, MetadataInput } from './find-metadata.ts'
import { presetMetadata } from './preset-metadata.ts'
import { findPreset } from './presets/catalogue.ts'
import type { Preset, PresetOAuth } from './presets/preset.ts'
import { presetMethods } from './preset-methods.ts'
import { bearerInjection, holdsSlug } from './provider.ts'
import type { Injection, Provider } from './provider.ts'
import type { ProviderStore } from './provider-store.ts'
import { registerClient } from './register-client.ts'
import type { RegisterClientNeeds, Registration } from './register-client.ts'
import { replaceIncomplete } from './replace-incomplete.ts'
import { assertNotReserved, slugFrom } from './slug.ts'
import { assertTenantsAreNamed, readProviderHosts } from './tenant-hosts.ts'

export interface CreateProviderNeeds extends FindMetadataNeeds, RegisterClientNeeds {
  database: Database
  providers: ProviderStore
  audit: AuditWriter
  clock: Clock
}

/** What an admin gives. Everything else is discovered, taken from the preset, or left at its default. */
export interface NewProvider extends MetadataInput {
  preset: string | undefined
  name: string | undefined
  slug: string | undefined
  scopes: string[] | undefined
  clientId: string | undefined
  clientSecret: Secret | undefined
  authMethod: AuthMethod | undefined
  apiHosts: string[] | undefined
  authorizationParams: Record<string, string> | undefined
  injection: Injection | undefined
  allowRange: boolean | undefined
  authMethods: readonly GivenMethod[] | undefined
}

export async function createProvider(
  needs: CreateProviderNeeds,
  wanted: NewProvider,
  requestId: string,
): Promise<Provider> {
  const { database, providers, audit, clock } = needs
  const preset = presetOf(wanted.preset)
  const name = wanted.name ?? preset?.name
  if (name === undefined) throw missing('provider_name')
  const slug = wanted.slug ?? preset?.id ?? slugFrom(name)
  if (slug === undefined) throw missing('slug')
  assertNotReserved(slug)
  const oauth = preset?.oauth
  const ownServer = preset && !isAnotherIssuer(oauth, wanted.metadata) ? preset : undefined
  const calling = readCalling(wanted, oauth)
  const wantedHosts = calling.apiHosts ?? (ownServer && [...ownServer.apiHosts])
  const wantedMethods =
    wanted.authMethods ??
    (ownServer ? presetMethods(ownServer, calling.apiHosts ?? ownServer.apiHosts) : [{ kind: 'oauth2' as const }])
  assertTenantsAreNamed(wantedHosts ?? [], wantedMethods)
  const usesOAuth2 = wantedMethods.some(({ kind }) => kind === 'oauth2')
  const kinds = wantedMethods.map(({ kind }) => kind)
  const needsTokenUrl = wantedMethods.some(
    ({ kind, token_url }) => kind === 'client_credentials' && token_url === undefined,
  )
  const issuing = {
    ...wanted,
    metadata: { ...usualTokenUrl(kinds), ...(ownServer && issuingUrl(ownServer)), ...wanted.metadata },
  }
  if (!usesOAuth2) {
    assertNoOAuth2(wanted, { apiHosts: wantedHosts, kinds })
    if (needsTokenUrl && issuing.metadata.token_endpoint === undefined) throw missing('token_url')
  }
  const scopes = wanted.scopes ?? (usesOAuth2 ? [...(oauth?.defaultScopes ?? [])] : [])
  const given = givenClient(wanted, oauth)
  const description = usesOAuth2 ? describe(needs, oauth ? overPreset(oauth, wanted) : wanted, 'operator') : undefined
  const holder = await providers.findBySlug(database.queries, slug)
  if (holder && holdsSlug(holder)) throw new ServiceError('slug_taken', { field: 'slug' })

  const complete = description && (await completeMetadata(needs, description, 'operator'))
  const tokenEndpoint = usesOAuth2 ? {} : describe(needs, issuing, 'operator').given
  const metadata: Partial<Metadata> = complete ?? tokenEndpoint
  const apiHosts = wantedHosts ?? defaultApiHosts(metadata)
  const authMethods = readAuthMethods(wantedMethods, apiHosts)
  const { client, error } =
    given ??
    (complete
      ? await registerClient(needs, { metadata: complete, slug, scopes }, 'operator')
      : { client: undefined, error: null })
  const now = clock()
  const provider: Provider = {
    providerId: newId('prv', now),
    slug,
    name,
    source: preset ? 'preset' : 'admin',
    preset: preset?.id ?? null,
    proposedBy: null,
    status: client || hasFormMethod({ authMethods }) ? 'active' : 'pending_credentials',
    metadata,
    discoveryUrl: description ? (description.discoveryUrl ?? ownServer?.oauth?.discoveryUrl ?? null) : null,
    scopes,
    ...calling,
    apiHosts,
    authMethods,
    clientId: client?.clientId ?? null,
    authMethod: client?.authMethod ?? wanted.authMethod ?? oauth?.tokenEndpointAuthMethod ?? 'client_secret_basic',
    registrationError: error,
    createdAt: now,
    updatedAt: now,
  }
  await database.transaction(async (tx) => {
    await replaceIncomplete(needs, tx, slug, requestId)
    const isNew = await providers.insert(tx, provider, client?.clientSecret)
    if (!isNew) throw new ServiceError('slug_taken', { field: 'slug' })
    const detail = { provider_id: provider.providerId, slug, source: provider.source, status: provider.status }
    await audit.append(tx, { event: 'provider.created', at: now, requestId, detail })
  })
  return provider
}

function presetOf(id: string | undefined): Preset | undefined {
  const preset = id === undefined ? undefined : findPreset(id)
  if (id !== undefined && !preset) {
    throw new ServiceError('not_found', {
      field: 'preset',
      message: 'No such preset. GET /v4/providers/presets lists the available ones.',
    })
  }
  return preset
}

function readCalling(
  { apiHosts, authorizationParams, injection, allowRange }: NewProvider,
  oauth: PresetOAuth | undefined,
) {
  return {
    apiHosts: apiHosts && readProviderHosts(apiHosts),
    authorizationParams: readAuthorizationParams({ ...oauth?.authorizationParams, ...authorizationParams }),
    injection: injection ? readInjection(injection) : bearerInjection,
    allowRange: allowRange ?? false,
  }
}

/** Members that only OAuth uses would be ignored, so they are refused. */
function assertNoOAuth2(
  wanted: NewProvider,
  { apiHosts, kinds }: { apiHosts: unknown; kinds: readonly AuthMethodKind[] },
): void {
  const { clientId, clientSecret, authMethod, scopes, discoveryUrl, metadata, injection, authorizationParams } = wanted
  const metadataFields: Record<string, string> = { ...endpointFields, issuer: 'issuer_url' }
  const given = {
    ...{ client_id: clientId, client_secret: clientSecret, token_endpoint_auth_method: authMethod, scopes },
    ...{ discovery_url: discoveryUrl, injection, authorization_params: authorizationParams },
    ...Object.fromEntries(Object.entries(metadata).map(([name, value]) => [metadataFields[name] ?? name, value])),
  }
  const isClient = kinds.includes('client_credentials')
  const ofKinds = [
    ...(kinds.some((kind) => tokenUrlOf(kind) !== undefined) ? ['token_url', 'injection'] : []),
    ...(isClient ? ['token_endpoint_auth_method', 'scopes'] : []),
  ]
  const field = Object.entries(given).find(([name, value]) => value !== undefined && !ofKinds.includes(name))?.[0]
  if (field !== undefined) {
    const message = `"${field}" is for OAuth, and "auth_methods" has no "oauth2". Add that, or omit this.`
    throw new ServiceError('invalid_field', { field, message })
  }
  if (!apiHosts) throw missing('api_hosts')
  if (isClient && authMethod === 'none') {
    const message = 'A client needs its secret here. Use client_secret_basic or client_secret_post.'
    throw new ServiceError('invalid_field', { field: 'token_endpoint_auth_method', message })
  }
}

function tokenUrlOf(kind: AuthMethodKind): string | undefined {
  return kind === 'oauth2' ? undefined : authKindOf(kind).tokenUrl
}

/** For kinds that have tokens issued in one place alone. */
export function usualTokenUrl(kinds: readonly AuthMethodKind[]): Partial<Metadata> {
  const urls = new Set(kinds.map(tokenUrlOf).filter((url) => url !== undefined))
  const [url] = urls
  return urls.size === 1 && url !== undefined && url !== 'required' ? { token_endpoint: url } : {}
}

/** Where a preset without OAuth has tokens issued. */
function issuingUrl({ tokenUrl }: Preset): Partial<Metadata> {
  return tokenUrl === undefined ? {} : { token_endpoint: tokenUrl }
}

function givenClient(wanted: NewProvider, oauth: PresetOAuth | undefined): Registration | undefined {
  const { clientId, clientSecret, authMethod } = wanted
  if (clientId === undefined && clientSecret) throw missing('client_id')
  if (clientId === undefined) return undefined
  const usual = oauth?.tokenEndpointAuthMethod ?? 'client_secret_basic'
  return { client: readCredentials({ clientId, clientSecret, authMethod }, usual), error: null }
}

/** A preset's endpoints are pinned. Another issuer needs its own, or the secret would be sent to the wrong server. */
function overPreset(preset: PresetOAuth, { discoveryUrl, metadata }: NewProvider): MetadataInput {
  if (discoveryUrl !== undefined) {
    const message = 'A preset does not use discovery. Omit "preset" or "discovery_url".'
    throw new ServiceError('invalid_field', { field: 'discovery_url', message })
  }
  if (!isAnotherIssuer(preset, metadata)) {
    return { discoveryUrl: undefined, metadata: { ...presetMetadata(preset), ...metadata } }
  }
  if (metadata.authorization_endpoint === undefined) throw missing('authorization_url')
  if (metadata.token_endpoint === undefined) throw missing('token_url')
  return { discoveryUrl: undefined, metadata }
}

function isAnotherIssuer(preset: PresetOAuth | undefined, { issuer }: NewProvider['metadata']): boolean {
  return preset !== undefined && issuer !== undefined && issuer !== preset.issuerUrl
}

function missing(field: string): ServiceError {
  return new ServiceError('missing_field', { field, message: `"${field}" is missing. Add it.` })
}
