/**
 * What a user calls an agent, shown to that user beside the name that the agent chose. It is in no other answer of the
 * API, so neither an agent nor another user learns it.
 */
import { AgentName, AgentNameBody, AgentNamePage } from '@sallyport/protocol/access-requests'
import { PageQuery } from '@sallyport/protocol/lists'
import { IdInPath, Strict } from '@sallyport/protocol/schema'
import { actingUser, onBehalfOf } from '../authenticate.ts'
import { pageRequest } from '../platform/database/paging.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Http } from '../platform/http/http.ts'
import type { AccessRequestStore } from './access-request-store.ts'
import type { AgentNameStore } from './agent-name-store.ts'

interface AgentNameNeeds {
  database: Database
  accessRequests: AccessRequestStore
  agentNames: AgentNameStore
}

const tags = ['Access requests']

export function agentNameRoutes(http: Http, needs: AgentNameNeeds): void {
  http.get(
    '/v4/agent-names',
    {
      config: { allow: ['user'] },
      schema: {
        tags,
        summary: 'List the names that you gave agents',
        querystring: PageQuery('agt'),
        response: { 200: AgentNamePage },
      },
    },
    async (request) => {
      const { userId } = actingUser(request).user
      const page = await needs.agentNames.listOfUser(needs.database.queries, userId, pageRequest(request.query))
      const names = page.records.map(({ agentId, name }) => ({ agent_id: agentId, name }))
      return { agent_names: names, next_cursor: page.nextCursor }
    },
  )

  http.put(
    '/v4/agent-names/:id',
    {
      config: { allow: ['user'] },
      schema: {
        tags,
        summary: 'Give an agent a name of your own, which only you see',
        params: IdInPath,
        body: AgentNameBody,
        response: { 200: AgentName },
      },
    },
    async (request) => {
      const { userId } = actingUser(request).user
      const { id: agentId } = request.params
      const name = request.body.name.trim()
      const { database, accessRequests, agentNames } = onBehalfOf(request, needs)
      await database.transaction(async (tx) => {
        // As with muting: ids of agents must not be probed.
        if (!(await accessRequests.hasAsked(tx, agentId, userId))) throw new ServiceError('not_found')
        await agentNames.put(tx, userId, { agentId, name })
      })
      return { agent_id: agentId, name }
    },
  )

  http.delete(
    '/v4/agent-names/:id',
    {
      config: { allow: ['user'] },
      schema: {
        tags,
        summary: 'Call an agent by its own name again',
        params: IdInPath,
        response: { 200: Strict({}, { description: 'You have no name for the agent.' }) },
      },
    },
    async (request) => {
      const { userId } = actingUser(request).user
      const { database, agentNames } = onBehalfOf(request, needs)
      await database.transaction((tx) => agentNames.drop(tx, userId, request.params.id))
      return {}
    },
  )
}
