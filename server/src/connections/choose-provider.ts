import type { Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { hasOAuth2 } from '../providers/auth-method.ts'
import { metadataOf } from '../providers/provider.ts'
import type { Provider } from '../providers/provider.ts'
import type { ProviderStore } from '../providers/provider-store.ts'
import type { User } from '../sessions/user.ts'
import type { ConnectionStore } from './connection-store.ts'

/** What a user wants to connect. */
export interface Wish {
  providerSlug: string | undefined
  providerId: string | undefined
  scopes: string[] | undefined
  /** One of the user's connections, to be renewed. */
  connectionId: string | undefined
}

export interface Choice {
  provider: Provider
  scopes: string[]
  connectionId: string | null
}

/** The active provider, and the connection to renew, which has to be the user's own. */
export async function chooseProvider(
  { providers, connections }: { providers: ProviderStore; connections: ConnectionStore },
  queries: Queries,
  user: User,
  { providerSlug, providerId, scopes, connectionId }: Wish,
): Promise<Choice> {
  const renewed =
    connectionId === undefined ? undefined : await connections.findOfUser(queries, user.userId, connectionId)
  if (connectionId !== undefined && (!renewed || renewed.status === 'revoked')) {
    throw new ServiceError('not_found', { field: 'connection_id', message: 'You have no connection with this id.' })
  }
  const id = providerId ?? (providerSlug === undefined ? renewed?.providerId : undefined)
  const field = id === undefined || id !== providerId ? 'provider_slug' : 'provider_id'
  if (id === undefined && providerSlug === undefined) {
    throw new ServiceError('missing_field', { field, message: 'Set "provider_slug" or "provider_id".' })
  }
  const provider =
    id === undefined ? await providers.findBySlug(queries, providerSlug ?? '') : await providers.find(queries, id)
  if (!provider) throw new ServiceError('not_found', { field, message: 'No such provider.' })
  const contradicts = (providerSlug ?? provider.slug) !== provider.slug
  if (contradicts || (renewed && renewed.providerId !== provider.providerId)) {
    throw new ServiceError('invalid_field', {
      field,
      message: 'This does not match the provider given in the other members.',
    })
  }
  if (provider.status !== 'active') {
    throw new ServiceError('conflict', {
      field,
      message: 'This provider is not active, so accounts cannot be connected.',
    })
  }
  if (!hasOAuth2(provider)) metadataOf(provider)
  return {
    provider,
    scopes: scopes ?? renewed?.scopes ?? provider.scopes,
    connectionId: renewed?.connectionId ?? null,
  }
}
