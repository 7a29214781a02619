import type { Connection } from '../connections/connection.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Metadata } from '../platform/oauth/oauth-client.ts'
import type { Injection, ProviderSource, ProviderStatus } from '../providers/provider.ts'
import { endOf } from './grant.ts'
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

/** Whether a call may begin or go on. Its grant may be used up by now: the last call is a call too. */
export function assertStands({ grant, connection, provider }: Standing, now: Date): void {
  const end = endOf(grant, now)
  if (end) throw new ServiceError(end)
  if (provider && provider.status !== 'active') throw providerDisabled()
  if (connection?.status === 'needs_reauth') throw new ServiceError('connection_needs_reauth')
}

export function providerDisabled(): ServiceError {
  return new ServiceError('conflict', { message: 'The provider has been disabled.' })
}

/** Whom and what a record of a call concerns, beside its agent. */
export function recordedNames({ grant, connection, provider }: Standing) {
  return {
    grantId: grant.grantId,
    userId: grant.userId ?? undefined,
    connectionId: connection?.connectionId,
    provider: provider?.slug ?? undefined,
  }
}
