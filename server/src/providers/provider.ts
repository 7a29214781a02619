import { ServiceError } from '../platform/errors.ts'
import type { AuthMethod, Metadata } from '../platform/oauth/oauth-client.ts'

/** An OAuth provider that people can connect. Its metadata is pinned: it changes only when an admin says so. */
export interface Provider {
  providerId: string
  slug: string
  name: string
  source: ProviderSource
  /** The preset it was made from, whose quirks it keeps. */
  preset: string | null
  /** The agent that proposed it. */
  proposedBy: string | null
  status: ProviderStatus
  /** Without an issuer it is a proposal that lacks endpoints: it stays inactive until an admin sets them. */
  metadata: Partial<Metadata>
  discoveryUrl: string | null
  scopes: string[]
  /** Where its tokens may go: `name`, `*.name`, each with an optional port. */
  apiHosts: string[]
  clientId: string | null
  authMethod: AuthMethod
  authorizationParams: Record<string, string>
  injection: Injection
  allowRange: boolean
  /** Why automatic registration did not give a client, as a coarse code. */
  registrationError: string | null
  createdAt: Date
  updatedAt: Date
}

/** The members that an admin can correct. */
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

/** Somebody who answers for it gave its addresses. Credentials from an admin change nothing about whose they are. */
export function isVerified({ source }: Pick<Provider, 'source'>): boolean {
  return source !== 'proposal'
}

/** Throws where endpoints are missing; an active provider has them. */
export function metadataOf({ metadata }: Pick<Provider, 'metadata'>): Metadata {
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

/** Why there is no client: coarse, because an agent is told. */
export type RegistrationError =
  | 'registration_unsupported'
  | 'registration_refused'
  | 'registration_unreachable'
  /** It answered, but not as RFC 7591 says, or with a secret too short to be kept. */
  | 'registration_invalid'
  /** Not asked: no endpoints are known. */
  | 'endpoints_missing'
  /** Not asked: an admin looks at proposals first. */
  | 'review'

/** Where a person comes back to after consent (spec v4, Endpoints). */
export function redirectUri(baseUrl: URL, slug: string): string {
  return `${baseUrl.origin}/v4/oauth/callback/${slug}`
}
