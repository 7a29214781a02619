import type { AuthMethod, Metadata } from '../platform/oauth/oauth-client.ts'

/** An OAuth provider that people can connect. Its metadata is pinned: it changes only when an admin says so. */
export interface Provider {
  providerId: string
  /** null once it is deleted: another may then have it. */
  slug: string | null
  name: string
  source: ProviderSource
  /** The preset it was made from, whose quirks it keeps. */
  preset: string | null
  /** The agent that proposed it. */
  proposedBy: string | null
  status: ProviderStatus
  metadata: Metadata
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

export type ProviderStatus = 'active' | 'pending_credentials' | 'disabled'
export type ProviderSource = 'admin' | 'preset' | 'proposal'

/** How a token is put into a call. */
export interface Injection {
  in: 'header'
  name: string
  prefix: string
}

export const bearerInjection: Injection = { in: 'header', name: 'authorization', prefix: 'Bearer ' }

/** Somebody who answers for the provider has looked at it: it does not come from an agent. */
export function isVerified({ source }: Provider): boolean {
  return source !== 'proposal'
}

export function hasDeviceFlow({ metadata }: Provider): boolean {
  return metadata.device_authorization_endpoint !== undefined
}
