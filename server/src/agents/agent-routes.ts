import {
  Agent as AgentView,
  AgentPage,
  ListAgentsQuery,
  RegisterAgentBody,
  RegisterAgentReply,
  RotateTokenReply,
} from '@sallyport/protocol/agents'
import { IdInPath, NoBody } from '@sallyport/protocol/schema'
import { actingAgent, onBehalfOf } from '../authenticate.ts'
import type { Queries } from '../platform/database/database.ts'
import { pageRequest } from '../platform/database/paging.ts'
import type { Http } from '../platform/http/http.ts'
import type { Agent } from './agent.ts'
import { disableAgent } from './disable.ts'
import { enableAgent } from './enable.ts'
import type { EnableAgentNeeds } from './enable.ts'
import { searchPages } from '../platform/database/search-pages.ts'
import { registerAgent } from './register.ts'
import type { RegisterNeeds } from './register.ts'
import { rotateToken } from './rotate-token.ts'
import type { RotateTokenNeeds } from './rotate-token.ts'

type AgentRouteNeeds = RegisterNeeds &
  RotateTokenNeeds &
  EnableAgentNeeds & {
    /** Their active grants. */
    grantsOfAgents: (
      queries: Queries,
      agentIds: readonly string[],
      now: Date,
    ) => Promise<ReadonlyMap<string, { active: number; lastUsedAt: Date | null }>>
  }

export function agentRoutes(http: Http, needs: AgentRouteNeeds): void {
  http.post(
    '/v4/agents/register',
    {
      config: { allow: 'anyone', needsDiskSpace: true },
      schema: {
        tags: ['Agents'],
        summary: 'Register an agent',
        body: RegisterAgentBody,
        response: { 201: RegisterAgentReply },
      },
    },
    async ({ body, ip, id }, reply) => {
      const registration = { name: body.name, ownerUserId: body.owner_user_id, metadata: body.metadata }
      const { agent, accessToken } = await registerAgent(needs, registration, { address: ip, requestId: id })
      return reply.code(201).send({ agent: agentView(agent), access_token: accessToken.reveal() })
    },
  )

  http.get(
    '/v4/agents/me',
    {
      config: { allow: ['agent'] },
      schema: { tags: ['Agents'], summary: 'Get the agent of this token', response: { 200: AgentView } },
    },
    (request) => agentView(actingAgent(request).agent),
  )

  http.post(
    '/v4/agents/rotate-token',
    {
      config: { allow: ['agent'], worksOnFullDisk: true },
      schema: {
        tags: ['Agents'],
        summary: 'Rotate the token of this agent',
        description:
          'The old token stops working immediately; calls in progress with it are ended within about a second.',
        body: NoBody,
        response: { 200: RotateTokenReply },
      },
    },
    async (request) => {
      const { agent, tokenHash } = actingAgent(request)
      const rotated = await rotateToken(onBehalfOf(request, needs), agent, tokenHash, request.id)
      return { agent: agentView(rotated.agent), access_token: rotated.accessToken.reveal() }
    },
  )

  http.get(
    '/v4/agents',
    {
      config: { allow: ['admin'] },
      schema: {
        tags: ['Agents'],
        summary: 'List and search agents',
        querystring: ListAgentsQuery,
        response: { 200: AgentPage },
      },
    },
    async ({ query }) => {
      const { agents, database, grantsOfAgents, clock } = needs
      const { records, nextCursor } = await searchPages(
        (page) => agents.list(database.queries, page),
        pageRequest(query),
        { query: query.query, textOf: searchedText, idOf: ({ agentId }) => agentId },
      )
      const ids = records.map(({ agentId }) => agentId)
      const figures = await grantsOfAgents(database.queries, ids, clock())
      const listed = (agent: Agent) => ({
        ...agentView(agent),
        active_grants: figures.get(agent.agentId)?.active ?? 0,
        last_call_at: figures.get(agent.agentId)?.lastUsedAt?.toISOString() ?? null,
      })
      return { agents: records.map(listed), next_cursor: nextCursor }
    },
  )

  http.post(
    '/v4/agents/:id/disable',
    {
      config: { allow: ['admin'], worksOnFullDisk: true },
      schema: {
        tags: ['Agents'],
        summary: 'Disable an agent',
        params: IdInPath,
        body: NoBody,
        response: { 200: AgentView },
      },
    },
    async ({ params, id }) => agentView(await disableAgent(needs, params.id, id)),
  )

  http.post(
    '/v4/agents/:id/enable',
    {
      config: { allow: ['admin'] },
      schema: {
        tags: ['Agents'],
        summary: 'Enable a disabled agent',
        description:
          'Its token works again, and so do its grants that have not ended. Its keys for tools, and calls that were in ' +
          'progress or waiting when it was disabled, stay ended. Takes up to two seconds right after disabling.',
        params: IdInPath,
        body: NoBody,
        response: { 200: AgentView },
      },
    },
    async ({ params, id }) => agentView(await enableAgent(needs, params.id, id)),
  )
}

function searchedText({ name, agentId, ownerUserId }: Agent): string {
  return `${name} ${agentId} ${ownerUserId}`
}

function agentView(agent: Agent): AgentView {
  return {
    agent_id: agent.agentId,
    name: agent.name,
    owner_user_id: agent.ownerUserId,
    metadata: agent.metadata,
    status: agent.disabledAt ? 'disabled' : 'active',
    created_at: agent.createdAt.toISOString(),
    disabled_at: agent.disabledAt?.toISOString() ?? null,
  }
}
