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
import { pageRequest } from '../platform/database/paging.ts'
import type { Http } from '../platform/http/http.ts'
import type { Agent } from './agent.ts'
import { disableAgent } from './disable.ts'
import { registerAgent } from './register.ts'
import type { RegisterNeeds } from './register.ts'
import { rotateToken } from './rotate-token.ts'
import type { RotateTokenNeeds } from './rotate-token.ts'

export function agentRoutes(http: Http, needs: RegisterNeeds & RotateTokenNeeds): void {
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
      schema: { tags: ['Agents'], summary: 'List agents', querystring: ListAgentsQuery, response: { 200: AgentPage } },
    },
    async ({ query }) => {
      const { records, nextCursor } = await needs.agents.list(needs.database.queries, pageRequest(query))
      return { agents: records.map(agentView), next_cursor: nextCursor }
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
