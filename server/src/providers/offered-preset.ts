/**
 * Presets that people can use without an admin, because they need nothing from the operator: the provider is created
 * with the first account. That happens once. A preset that has been a provider, under any slug, comes back only through
 * an admin, so one who disables or deletes a provider has the last word.
 */
import type { AuthMethod as GivenMethod } from '@sallyport/protocol/auth-methods'
import type { AuditWriter } from '../audit/audit-log.ts'
import type { Config } from '../config/config.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { readAuthorizationParams } from './calling.ts'
import { usualTokenUrl } from './create.ts'
import { presetMetadata } from './preset-metadata.ts'
import { presetMethods } from './preset-methods.ts'
import { findPreset, presets } from './presets/catalogue.ts'
import type { Preset } from './presets/preset.ts'
import { bearerInjection } from './provider.ts'
import type { Provider } from './provider.ts'
import type { ProviderStore } from './provider-store.ts'
import { readAuthMethods } from './read-auth-methods.ts'
import type { UsedPresetStore } from './used-preset-store.ts'

export interface OfferedPresetNeeds {
  config: Pick<Config, 'userPresets'>
  database: Database
  providers: ProviderStore
  usedPresets: UsedPresetStore
  audit: AuditWriter
}

type OfferNeeds = Pick<OfferedPresetNeeds, 'config' | 'usedPresets'>

/** Whether an account can be connected by a form, which needs no OAuth client. */
export function needsNoClient({ authMethods }: Preset): boolean {
  return authMethods.some(({ kind }) => kind !== 'oauth2')
}

/** The ids of the presets that people can use now. */
export async function offeredPresets(
  { config, usedPresets }: OfferNeeds,
  queries: Queries,
): Promise<ReadonlySet<string>> {
  if (config.userPresets === 'off') return new Set()
  const ids = presets.filter(needsNoClient).map(({ id }) => id)
  const used = await usedPresets.find(queries, ids)
  return new Set(ids.filter((id) => !used.has(id)))
}

/** The provider that would be created. Throws if there is no such preset, or people can't use it. */
export async function offeredProvider(
  { config, usedPresets }: OfferNeeds,
  queries: Queries,
  slug: string,
  now: Date,
): Promise<Provider> {
  const preset = findPreset(slug)
  if (!preset) throw notFound('No such provider.')
  const isUsed = (await usedPresets.find(queries, [preset.id])).has(preset.id)
  if (isUsed || config.userPresets === 'off' || !needsNoClient(preset)) throw askAdmin(preset.name)
  return providerOf(preset, now)
}

/** Stores it, or returns the one that another user has added in the meantime. */
export async function addOffered(
  { database, providers, usedPresets, audit }: OfferedPresetNeeds,
  tx: Queries,
  provider: Provider,
  { userId, requestId }: { userId: string; requestId: string },
): Promise<Provider> {
  const { providerId, slug, name, source, status, createdAt: at } = provider
  if (!(await providers.insert(tx, provider, undefined))) {
    const first = await providers.findBySlug(tx, slug)
    const locked = first && (await providers.lock(database, tx, first.providerId))
    if (locked?.status === 'active' && termsOf(locked) === termsOf(provider)) return locked
    const message = 'This provider was added in the meantime. Try again.'
    throw new ServiceError('conflict', { field: 'provider_slug', message })
  }
  // Afterwards, so that one that was added and deleted in the meantime is found.
  if ((await usedPresets.find(tx, [slug], providerId)).size > 0) throw askAdmin(name)
  const detail = { provider_id: providerId, slug, source, status, by: 'user' }
  await audit.append(tx, { event: 'provider.created', at, requestId, userId, detail })
  return provider
}

/** All that decides where a credential goes. */
function termsOf({ preset, metadata, apiHosts, authMethods }: Provider): string {
  return JSON.stringify([preset, metadata, apiHosts, authMethods])
}

/**
 * As POST /v4/providers creates it without an OAuth client. It has all methods of the preset, because they can't be
 * changed later: with a client, an admin can turn on OAuth.
 */
function providerOf(preset: Preset, now: Date): Provider {
  const { id, oauth, tokenUrl } = preset
  const apiHosts = [...preset.apiHosts]
  const given: GivenMethod[] = presetMethods(preset, apiHosts)
  const authMethods = readAuthMethods(given, apiHosts)
  return {
    ...{ providerId: newId('prv', now), slug: id, name: preset.name, source: 'preset', preset: id, proposedBy: null },
    ...{ status: 'active', createdAt: now, updatedAt: now },
    metadata: oauth
      ? presetMetadata(oauth)
      : {
          ...usualTokenUrl(given.map(({ kind }) => kind)),
          ...(tokenUrl !== undefined && { token_endpoint: tokenUrl }),
        },
    discoveryUrl: oauth?.discoveryUrl ?? null,
    scopes: [...(oauth?.defaultScopes ?? [])],
    ...{ apiHosts, authMethods, clientId: null, registrationError: null },
    authMethod: oauth?.tokenEndpointAuthMethod ?? 'client_secret_basic',
    authorizationParams: readAuthorizationParams(oauth?.authorizationParams ?? {}),
    ...{ injection: bearerInjection, allowRange: false },
  }
}

function askAdmin(name: string): ServiceError {
  return notFound(`${name} is not set up here. Ask an administrator to add it.`)
}

function notFound(message: string): ServiceError {
  return new ServiceError('not_found', { field: 'provider_slug', message })
}
