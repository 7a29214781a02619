import type { Connection } from '../connections/connection.ts'
import type { Metadata } from '../platform/oauth/oauth-client.ts'
import type { Injection, ProviderSource, ProviderStatus } from '../providers/provider.ts'
import type { Grant } from './grant.ts'

/** The part of a connection that decides whether its token may be used as it is. */
export type StandingConnection = Pick<
  Connection,
  | 'connectionId'
  | 'userId'
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
  injection: Injection
  allowRange: boolean
  /** As it is sealed: another one means another secret. */
  sealedClientSecret: Uint8Array | null
}

/** All that a call stands on, as it is at this moment. Connection and provider are null in the sandbox. */
export interface Standing {
  grant: Grant
  connection: StandingConnection | null
  provider: StandingProvider | null
}

/** Whom and what a record of a call concerns, beside its agent. Calls that no user approved are kept for a shorter time. */
export function recordedNames({ grant, connection, provider }: Standing) {
  return {
    isKeptBriefly: grant.userId === null,
    grantId: grant.grantId,
    userId: grant.userId ?? undefined,
    connectionId: connection?.connectionId,
    provider: provider?.slug ?? undefined,
  }
}
