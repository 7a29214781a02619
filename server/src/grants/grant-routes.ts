import { Grant as GrantView, GrantPage, ListGrantsQuery, Receipt } from '@sallyport/protocol/grants'
import { IdInPath, NoBody } from '@sallyport/protocol/schema'
import type { FastifyRequest } from 'fastify'
import { actingAgent, actingUser, onBehalfOf } from '../authenticate.ts'
import { pageRequest } from '../platform/database/paging.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Http } from '../platform/http/http.ts'
import { readCursor } from './grant-cursor.ts'
import type { Grant } from './grant.ts'
import { grantView } from './grant-view.ts'
import { findOfParty, revokeGrant } from './revoke.ts'
import type { GrantParty, RevokeGrantNeeds } from './revoke.ts'

const tags = ['Grants']

export function grantRoutes(http: Http, needs: RevokeGrantNeeds): void {
  const { database, grants, clock } = needs

  const views = async (records: Grant[], party: GrantParty): Promise<GrantView[]> => {
    const ids = records.map(({ grantId }) => grantId)
    const described = await grants.describe(database.queries, ids)
    const now = clock()
    return records.flatMap((grant) => {
      const description = described.get(grant.grantId)
      // One that is gone by now was a sandbox's, swept away.
      return description ? [grantView(grant, description, 'user' in party ? 'user' : 'agent', now)] : []
    })
  }

  http.get(
    '/v4/grants',
    {
      config: { allow: ['agent', 'user'] },
      schema: {
        tags,
        summary: 'List your grants: those an agent has, or those a user approved',
        description: 'Active grants first, then ended ones; newest first within each group.',
        querystring: ListGrantsQuery,
        response: { 200: GrantPage },
      },
    },
    async (request) => {
      const party = partyOf(request)
      const { queries } = database
      const { cursor, agent_id: agentId, connection_id: connectionId } = request.query
      const { limit, status } = pageRequest(request.query)
      const after = cursor === undefined ? undefined : readCursor(cursor)
      const wanted = { limit, status, after, agentId, connectionId }
      const page =
        'user' in party
          ? await grants.listOfUser(queries, party.user.userId, wanted, clock())
          : await grants.listOfAgent(queries, party.agent.agentId, wanted, clock())
      return { grants: await views(page.records, party), next_cursor: page.nextCursor }
    },
  )

  http.post(
    '/v4/grants/:id/revoke',
    {
      config: { allow: ['agent', 'user'], worksOnFullDisk: true },
      schema: {
        tags,
        summary: 'Revoke a grant',
        params: IdInPath,
        body: NoBody,
        response: { 200: GrantView },
      },
    },
    async (request) => {
      const party = partyOf(request)
      const revoked = await revokeGrant(onBehalfOf(request, needs), party, request.params.id, request.id)
      request.loggedIds = { ...request.loggedIds, grant_id: revoked.grantId }
      const [view] = await views([revoked], party)
      if (!view) throw new ServiceError('not_found')
      return view
    },
  )

  http.get(
    '/v4/grants/:id/receipt',
    {
      config: { allow: ['agent', 'user'] },
      schema: {
        tags,
        summary: 'Get the receipt of a grant: who approved it, when, and what a device signed',
        params: IdInPath,
        response: { 200: Receipt },
      },
    },
    async (request) => {
      const { id } = request.params
      const grant = await findOfParty(grants, database.queries, partyOf(request), id)
      const receipt = grant && (await grants.receiptOf(database.queries, id))
      if (!receipt) throw new ServiceError('not_found')
      return receipt
    },
  )
}

function partyOf(request: FastifyRequest): GrantParty {
  return request.actor?.kind === 'agent' ? actingAgent(request) : actingUser(request)
}
