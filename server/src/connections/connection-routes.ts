import {
  Connection as ConnectionView,
  ConnectionPage,
  CreateConnectionBody,
  ListConnectionsQuery,
  ReplaceCredentialBody,
} from '@sallyport/protocol/connections'
import { IdInPath, NoBody } from '@sallyport/protocol/schema'
import type { FastifyRequest } from 'fastify'
import { actingPerson, actingUser, onBehalfOf } from '../authenticate.ts'
import { pageRequest } from '../platform/database/paging.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Http } from '../platform/http/http.ts'
import { oauth2Method } from '../providers/auth-method.ts'
import { isVerified } from '../providers/provider.ts'
import type { ProviderName } from '../providers/provider-store.ts'
import { connectWithCredential } from './connect-with-credential.ts'
import { statusOf } from './connection.ts'
import type { Connection } from './connection.ts'
import { disconnect } from './disconnect.ts'
import type { DisconnectNeeds } from './disconnect.ts'
import type { FreshTokenOf } from './fresh-token.ts'
import { recheckCredential } from './recheck-credential.ts'
import type { RecheckNeeds } from './recheck-credential.ts'
import { replaceCredential } from './replace-credential.ts'
import type { ReplaceCredentialNeeds } from './replace-credential.ts'

const tags = ['Connections']

type ConnectionRouteNeeds = DisconnectNeeds & ReplaceCredentialNeeds & RecheckNeeds & { freshToken: FreshTokenOf }

export function connectionRoutes(http: Http, needs: ConnectionRouteNeeds): void {
  const { database, providers, connections, clock, freshToken } = needs
  const view = async (connection: Connection): Promise<ConnectionView> => {
    const names = await providers.namesOf(database.queries, [connection.providerId])
    return connectionView(connection, names.get(connection.providerId), clock())
  }

  http.get(
    '/v4/connections',
    {
      config: { allow: ['user', 'device', 'admin'] },
      schema: {
        tags,
        summary: 'List your connections, without their tokens',
        description: 'An administrator names the user with `user_id`.',
        querystring: ListConnectionsQuery,
        response: { 200: ConnectionPage },
      },
    },
    async (request) => {
      const userId = userIdOf(request, request.query.user_id)
      const page = await connections.listOfUser(database.queries, userId, pageRequest(request.query), clock())
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
    '/v4/connections',
    {
      config: { allow: ['user', 'admin'] },
      schema: {
        tags,
        summary: 'Connect an account with a credential, such as an API key',
        description:
          'The provider is asked whether it accepts the credential, up to 10 times an hour; nothing is stored if not. ' +
          'A preset that no administrator has added becomes a provider with its first account. ' +
          'For OAuth see `/v4/oauth/connect/start`.',
        body: CreateConnectionBody,
        response: { 201: ConnectionView },
      },
    },
    async (request, reply) => {
      const { provider_slug: providerSlug, auth_method: authMethod, credential: values, label } = request.body
      const entered = { providerSlug, authMethod, values, label }
      const needed = onBehalfOf(request, needs)
      const userId = userIdOf(request, request.body.user_id)
      return reply.code(201).send(await view(await connectWithCredential(needed, userId, entered, request.id)))
    },
  )

  http.put(
    '/v4/connections/:id/credential',
    {
      config: { allow: ['user', 'admin'] },
      schema: {
        tags,
        summary: 'Replace the credential of a connection',
        description:
          'Grants stay if the provider names the same account; another account is 409 `conflict`. ' +
          'If the provider cannot say whose credential it is, all grants of the connection end.',
        params: IdInPath,
        body: ReplaceCredentialBody,
        response: { 200: ConnectionView },
      },
    },
    async (request) => {
      const { credential, user_id } = request.body
      const needed = onBehalfOf(request, needs)
      const userId = userIdOf(request, user_id)
      return view(await replaceCredential(needed, userId, request.params.id, credential, request.id))
    },
  )

  http.post(
    '/v4/connections/:id/check',
    {
      config: { allow: ['user'] },
      schema: {
        tags,
        summary: 'Check a connection: refresh its access token if it is due, or ask the provider about its credential',
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
      if (found.authMethod !== oauth2Method.name) await recheckCredential(onBehalfOf(request, needs), found, request.id)
      else if (found.status === 'active') await freshToken(found.connectionId)
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

function userIdOf(request: FastifyRequest, given: string | undefined): string {
  const { actor } = request
  if (actor?.kind === 'admin') {
    if (given !== undefined) return given
    throw new ServiceError('missing_field', { field: 'user_id', message: '"user_id" is missing. Add it.' })
  }
  const { userId } = actingPerson(request).user
  if (given === undefined || given === userId) return userId
  throw new ServiceError('forbidden', { field: 'user_id', message: 'Only an administrator can do this for others.' })
}

function connectionView(connection: Connection, provider: ProviderName | undefined, now: Date): ConnectionView {
  return {
    connection_id: connection.connectionId,
    provider_id: connection.providerId,
    provider: provider?.slug ?? null,
    provider_name: provider?.name ?? '',
    auth_method: connection.authMethod,
    verified: provider !== undefined && isVerified(provider),
    account_label: connection.accountLabel,
    api_host: connection.apiHost,
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
