import { Connection as ConnectionView, ConnectionPage, ListConnectionsQuery } from '@sallyport/protocol/connections'
import { IdInPath, NoBody } from '@sallyport/protocol/schema'
import { actingPerson, actingUser, onBehalfOf } from '../authenticate.ts'
import { pageRequest } from '../platform/database/paging.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Http } from '../platform/http/http.ts'
import { isVerified } from '../providers/provider.ts'
import type { ProviderName } from '../providers/provider-store.ts'
import { statusOf } from './connection.ts'
import type { Connection } from './connection.ts'
import { disconnect } from './disconnect.ts'
import type { DisconnectNeeds } from './disconnect.ts'
import type { FreshTokenOf } from './fresh-token.ts'

const tags = ['Connections']

export function connectionRoutes(http: Http, needs: DisconnectNeeds & { freshToken: FreshTokenOf }): void {
  const { database, providers, connections, clock, freshToken } = needs
  const view = async (connection: Connection): Promise<ConnectionView> => {
    const names = await providers.namesOf(database.queries, [connection.providerId])
    return connectionView(connection, names.get(connection.providerId), clock())
  }

  http.get(
    '/v4/connections',
    {
      config: { allow: ['user', 'device'] },
      schema: {
        tags,
        summary: 'List your connections, without their tokens',
        querystring: ListConnectionsQuery,
        response: { 200: ConnectionPage },
      },
    },
    async (request) => {
      const { user } = actingPerson(request)
      const page = await connections.listOfUser(database.queries, user.userId, pageRequest(request.query), clock())
      const ids = page.records.map(({ providerId }) => providerId)
      const names = await providers.namesOf(database.queries, ids)
      const now = clock()
      return {
        connections: page.records.map((one) => connectionView(one, names.get(one.providerId), now)),
        next_cursor: page.nextCursor,
      }
    },
  )

  http.post(
    '/v4/connections/:id/check',
    {
      config: { allow: ['user'] },
      schema: {
        tags,
        summary: 'Check a connection, refreshing its access token if it is due',
        params: IdInPath,
        body: NoBody,
        response: { 200: ConnectionView },
      },
    },
    async (request) => {
      const { user } = actingUser(request)
      const mine = () => connections.findOfUser(database.queries, user.userId, request.params.id)
      const found = await mine()
      if (!found) throw new ServiceError('not_found')
      if (found.status === 'active') await freshToken(found.connectionId)
      return view((await mine()) ?? found)
    },
  )

  http.delete(
    '/v4/connections/:id',
    {
      config: { allow: ['user'], worksOnFullDisk: true },
      schema: {
        tags,
        summary: 'Disconnect an account: ends every grant for it, and asks the provider to revoke its tokens',
        params: IdInPath,
        body: NoBody,
        response: { 200: ConnectionView },
      },
    },
    async (request) => {
      const { user } = actingUser(request)
      return view(await disconnect(onBehalfOf(request, needs), user, request.params.id, request.id))
    },
  )
}

function connectionView(connection: Connection, provider: ProviderName | undefined, now: Date): ConnectionView {
  return {
    connection_id: connection.connectionId,
    provider_id: connection.providerId,
    provider: provider?.slug ?? null,
    provider_name: provider?.name ?? '',
    verified: provider !== undefined && isVerified(provider),
    account_label: connection.accountLabel,
    scopes: connection.scopes,
    status: statusOf(connection, now),
    created_at: connection.createdAt.toISOString(),
    last_used_at: connection.lastUsedAt?.toISOString() ?? null,
    expires_at: connection.expiresAt?.toISOString() ?? null,
    renewable: connection.canRefresh && connection.status === 'active',
    revoked_at: connection.revokedAt?.toISOString() ?? null,
    remote_revocation: connection.remoteRevocation,
  }
}
