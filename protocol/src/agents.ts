import { Type, type Static } from 'typebox'
import { Page, SearchQuery } from './lists.ts'
import { Dictionary, DisplayName, Nullable, RecordId, Strict, Text, Timestamp } from './schema.ts'

export const agentStatuses = ['active', 'disabled'] as const

export const selfRegistered = 'self-registered'
export const maxMetadataBytes = 4096

export const Agent = Type.Object({
  agent_id: RecordId('agt'),
  name: Type.String(),
  owner_user_id: Type.String({ description: "The agent's own claim. It carries no authority." }),
  metadata: Dictionary(Type.Unknown()),
  status: Type.Enum(agentStatuses),
  created_at: Timestamp,
  disabled_at: Nullable(Timestamp),
})
export type Agent = Static<typeof Agent>

export const RegisterAgentBody = Strict({
  name: DisplayName({ minLength: 1, maxLength: 200, description: 'Shown to the person who is asked for approval' }),
  owner_user_id: Type.Optional(Text({ minLength: 1, maxLength: 200 })),
  metadata: Type.Optional(
    Dictionary(Type.Unknown(), { description: `Any JSON, up to ${maxMetadataBytes} bytes of JSON` }),
  ),
})
export type RegisterAgentBody = Static<typeof RegisterAgentBody>

export const RegisterAgentReply = Type.Object({
  agent: Agent,
  access_token: Type.String({ description: 'The agent token. It is shown only once.' }),
})
export type RegisterAgentReply = Static<typeof RegisterAgentReply>

export const RotateTokenReply = RegisterAgentReply

export const ListAgentsQuery = SearchQuery('agt', agentStatuses, 'the name, the id or the claimed owner')
export type ListAgentsQuery = Static<typeof ListAgentsQuery>
export const ListedAgent = Type.Object({
  ...Agent.properties,
  active_grants: Type.Integer({
    description: 'Active grants of users. Those of a disabled agent work again once it is enabled',
  }),
  last_call_at: Nullable(
    Type.String({ format: 'date-time', description: 'The last call with one of these grants; null if there was none' }),
  ),
})
export type ListedAgent = Static<typeof ListedAgent>
export const AgentPage = Page('agents', ListedAgent)
export type AgentPage = Static<typeof AgentPage>
