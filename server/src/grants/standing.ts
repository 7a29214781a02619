import type { Connection } from '../connections/connection.ts'
import type { Metadata } from '../platform/oauth/oauth-client.ts'
import type { AuthMethod } from '../providers/auth-method.ts'
import type { Injection, ProviderSource, ProviderStatus } from '../providers/provider.ts'
import type { Grant } from './grant.ts'

/** The part of a connection that decides whether its token can be used without a refresh. */
export type StandingConnection = Pick<
  Connection,
  | 'connectionId'
  | 'userId'
  | 'authMethod'
  | 'status'
  | 'apiHost'
  | 'version'
  | 'expiresAt'
  | 'obtainedAt'
  | 'isRefreshed'
  | 'refreshLeaseUntil'
  | 'lastUsedAt'
>

export interface StandingProvider {
  slug: string | null
  status: ProviderStatus
  source: ProviderSource
  preset: string | null
  metadata: Metadata
  apiHosts: string[]
  authMethods: AuthMethod[]
  injection: Injection
  allowRange: boolean
  /** Encrypted. If it differs, so does the secret. */
  sealedClientSecret: Uint8Array | null
}

/** Everything that the authority of a call depends on, as of now. Connection and provider are null in the sandbox. */
export interface Standing {
  grant: Grant
  connection: StandingConnection | null
  provider: StandingProvider | null
}

/**
 * Ids for the record of a call, besides its agent's. Records of calls that no user approved have a shorter retention.
 */
export function recordedNames({ grant, connection, provider }: Standing) {
  return {
    isKeptBriefly: grant.userId === null,
    grantId: grant.grantId,
    userId: grant.userId ?? undefined,
    connectionId: connection?.connectionId,
    provider: provider?.slug ?? undefined,
  }
}
