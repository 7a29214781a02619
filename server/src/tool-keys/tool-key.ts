import type { CallingAgent } from '../agents/agent.ts'

/** What an agent gives its tools instead of its token: it reaches a few grants, for hours, and no other route. */
export interface ToolKey {
  keyId: string
  agentId: string
  grantIds: readonly string[]
  createdAt: Date
  expiresAt: Date
  /** To within a minute. */
  lastUsedAt: Date | null
}

/** The agent for which a tool calls, and the key that the tool has. */
export interface CallingTool extends CallingAgent {
  key: ToolKey
  keyHash: Buffer
}

export const bounds = {
  keysOfAgent: 100,
  createdPerHour: 600,
}
