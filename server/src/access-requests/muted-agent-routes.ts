import { MutedAgent as MutedAgentView, MutedAgentPage } from '@sallyport/protocol/access-requests'
import { PageQuery } from '@sallyport/protocol/lists'
import { IdInPath, NoBody, Strict } from '@sallyport/protocol/schema'
import type { Static } from 'typebox'
import { actingUser, onBehalfOf } from '../authenticate.ts'
import { pageRequest } from '../platform/database/paging.ts'
import type { Http } from '../platform/http/http.ts'
import { blockAgent, unmuteAgent } from './mute-agent.ts'
import type { BlockNeeds } from './mute-agent.ts'
import type { MutedAgent } from './muted-agent.ts'

const tags = ['Access requests']

export function mutedAgentRoutes(http: Http, needs: BlockNeeds): void {
  const { database, mutedAgents, clock } = needs

  http.get(
    '/v4/muted-agents',
    {
      config: { allow: ['user'] },
      schema: {
        tags,
        summary: 'List muted agents: recently denied or blocked',
        querystring: PageQuery('agt'),
        response: { 200: MutedAgentPage },
      },
    },
    async (request) => {
      const { user } = actingUser(request)
      const page = await mutedAgents.listOfUser(database.queries, user.userId, pageRequest(request.query), clock())
      return { muted_agents: page.records.map(view), next_cursor: page.nextCursor }
    },
  )

  http.post(
    '/v4/muted-agents/:id/block',
    {
      config: { allow: ['user'], worksOnFullDisk: true },
      schema: {
        tags,
        summary: 'Block an agent: no notifications, and its requests are not listed',
        params: IdInPath,
        body: NoBody,
        response: { 200: MutedAgentView },
      },
    },
    async (request) => {
      const { user } = actingUser(request)
      return view(await blockAgent(onBehalfOf(request, needs), user, request.params.id, request.id))
    },
  )

  http.post(
    '/v4/muted-agents/:id/unmute',
    {
      config: { allow: ['user'] },
      schema: {
        tags,
        summary: 'Unmute an agent',
        params: IdInPath,
        body: NoBody,
        response: { 200: Strict({}, { description: 'The agent is unmuted.' }) },
      },
    },
    async (request) => {
      await unmuteAgent(onBehalfOf(request, needs), actingUser(request).user, request.params.id, request.id)
      return {}
    },
  )
}

function view({ agentId, name, mutedAt, mutedUntil }: MutedAgent): Static<typeof MutedAgentView> {
  return {
    agent_id: agentId,
    name,
    muted_at: mutedAt.toISOString(),
    muted_until: mutedUntil?.toISOString() ?? null,
    blocked: mutedUntil === null,
  }
}
