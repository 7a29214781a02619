import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { oauth2Method } from '../providers/auth-method.ts'
import type { ProviderStore } from '../providers/provider-store.ts'
import type { User } from '../sessions/user.ts'
import type { Connection } from './connection.ts'
import type { ConnectionStore } from './connection-store.ts'
import type { FormerTokenStore } from './former-token-store.ts'
import type { RevocationStore } from './revocation-store.ts'
import type { RevokeRemotely } from './revoke-remotely.ts'

export interface DisconnectNeeds {
  database: Database
  providers: ProviderStore
  connections: ConnectionStore
  revocations: RevocationStore
  formerTokens: FormerTokenStore
  audit: AuditWriter
  clock: Clock
  revokeRemotely: RevokeRemotely
}

/**
 * The connection and all its grants end here immediately. Then the provider is asked to revoke the tokens, now or
 * later.
 */
export async function disconnect(
  needs: DisconnectNeeds,
  user: User,
  connectionId: string,
  requestId: string,
): Promise<Connection> {
  const { database, providers, connections, revocations, formerTokens, audit, clock, revokeRemotely } = needs
  const { userId } = user
  const found = await connections.findOfUser(database.queries, userId, connectionId)
  if (!found) throw new ServiceError('not_found')
  const wasLive = await database.transaction(async (tx) => {
    const at = clock()
    const provider = await providers.find(tx, found.providerId)
    const canRevoke =
      found.authMethod === oauth2Method.name &&
      provider?.clientId != null &&
      provider.metadata.revocation_endpoint !== undefined
    if (!(await revocations.revoke(tx, connectionId, canRevoke ? 'pending' : 'unsupported', at))) return false
    await formerTokens.dropOf(tx, connectionId)
    await audit.append(tx, {
      event: 'connection.revoked',
      at,
      requestId,
      userId,
      connectionId,
      detail: { connection_id: connectionId },
    })
    return true
  })
  if (wasLive) await revokeRemotely.of(connectionId)
  const ended = await connections.findOfUser(database.queries, userId, connectionId)
  return ended ?? found
}
