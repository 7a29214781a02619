import { ServiceError } from '../platform/errors.ts'
import type { AuthMethod as ClientAuthMethod, Metadata } from '../platform/oauth/oauth-client.ts'
import { hasOAuth2 } from './auth-method.ts'
import type { AuthMethod } from './auth-method.ts'

/** A provider whose accounts users can connect. Its metadata is pinned: only an admin can change it. */
export interface Provider {
  providerId: string
  slug: string
  name: string
  source: ProviderSource
  /** The preset it was created from, whose quirks apply to it. */
  preset: string | null
  /** The agent that proposed it. */
  proposedBy: string | null
  status: ProviderStatus
  /**
   * Without an issuer it has no `oauth2` method, or is a proposal that lacks endpoints, which stays inactive until an
   * admin sets them.
   */
  metadata: Partial<Metadata>
  discoveryUrl: string | null
  scopes: string[]
  /** Where its tokens may be sent: `name`, `*.name`, each with an optional port. */
  apiHosts: string[]
  /** How its accounts can be connected. */
  authMethods: AuthMethod[]
  clientId: string | null
  authMethod: ClientAuthMethod
  authorizationParams: Record<string, string>
  injection: Injection
  allowRange: boolean
  /** Why dynamic client registration failed, as a coarse code. */
  registrationError: string | null
  createdAt: Date
  updatedAt: Date
}

/** The members that an admin can change. */
export type ProviderEdit = 'name' | 'scopes' | 'apiHosts'
export type ProviderStatus = 'active' | 'pending_credentials' | 'disabled'
export type ProviderSource = 'admin' | 'preset' | 'proposal'

/** How a token is put into a call. */
export interface Injection {
  in: 'header'
  name: string
  prefix: string
}

export const bearerInjection: Injection = { in: 'header', name: 'authorization', prefix: 'Bearer ' }

/** Whether its URLs come from an admin or a preset. A proposal stays unverified even once an admin sets credentials. */
export function isVerified({ source }: Pick<Provider, 'source'>): boolean {
  return source !== 'proposal'
}

/** Throws if endpoints are missing. An active provider has them. */
export function metadataOf({ metadata, authMethods }: Pick<Provider, 'metadata' | 'authMethods'>): Metadata {
  if (!hasOAuth2({ authMethods })) {
    const message = 'This provider does not use OAuth. Connect accounts with POST /v4/connections.'
    throw new ServiceError('conflict', { message })
  }
  const { issuer, token_endpoint } = metadata
  if (issuer !== undefined) return { ...metadata, issuer }
  const field = token_endpoint === undefined ? 'token_url' : 'authorization_url'
  throw new ServiceError('conflict', {
    field,
    message:
      `This provider has no "${field}" yet. Set "issuer_url", or both "authorization_url" and "token_url", with ` +
      'PATCH /v4/providers/{id}/endpoints first.',
  })
}

/** A proposal without endpoints reserves no slug: a provider that has them takes its place. */
export function holdsSlug({ status, metadata }: Provider): boolean {
  return status !== 'pending_credentials' || metadata.issuer !== undefined
}

export function hasDeviceFlow({ metadata }: Provider): boolean {
  return metadata.device_authorization_endpoint !== undefined
}

/** Why there is no client. Coarse, because agents see it. */
export type RegistrationError =
  | 'registration_unsupported'
  | 'registration_refused'
  | 'registration_unreachable'
  /** The response does not follow RFC 7591, or its secret is too short to be redacted. */
  | 'registration_invalid'
  /** Not attempted: no endpoints are known. */
  | 'endpoints_missing'
  /** Not attempted: an admin reviews proposals first. */
  | 'review'

/** Where the user is sent after consent (spec v4, Endpoints). */
export function redirectUri(baseUrl: URL, slug: string): string {
  return `${baseUrl.origin}/v4/oauth/callback/${slug}`
}
