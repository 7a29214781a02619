import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Connection } from './connection.ts'
import type { ConnectionStore } from './connection-store.ts'

/** Read again after every wait: the connection, its user or its provider may have been disabled meanwhile. */
export async function liveConnection(
  { database, connections }: { database: Database; connections: ConnectionStore },
  connectionId: string,
): Promise<Connection> {
  const found = await connections.findWithAuthority(database.queries, connectionId)
  // A grant ends with its connection.
  if (!found || found.connection.status === 'revoked' || found.isUserDisabled) throw new ServiceError('grant_revoked')
  if (!found.isProviderActive) throw new ServiceError('conflict', { message: 'The provider has been disabled.' })
  if (found.connection.status === 'needs_reauth') throw new ServiceError('connection_needs_reauth')
  return found.connection
}
