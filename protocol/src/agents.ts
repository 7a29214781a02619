import { Type, type Static } from 'typebox'
import { ListQuery, Page } from './lists.ts'
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

export const ListAgentsQuery = ListQuery('agt', agentStatuses)
export type ListAgentsQuery = Static<typeof ListAgentsQuery>
export const AgentPage = Page('agents', Agent)
export type AgentPage = Static<typeof AgentPage>
