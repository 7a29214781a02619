import { maxMetadataBytes } from '@sallyport/protocol/agents'
import { ServiceError } from '../platform/errors.ts'

/** A program that requests access. Its token identifies it and permits nothing by itself. */
export interface Agent {
  agentId: string
  name: string
  /** The agent's own claim, not verified. */
  ownerUserId: string
  metadata: Record<string, unknown>
  createdAt: Date
  disabledAt: Date | null
}

/** An agent and the token of its call. Once the token is replaced, the call is refused. */
export interface CallingAgent {
  agent: Agent
  tokenHash: Buffer
  /** Hash of the key for tools, if the call came with one. The token is then the one that the key was made with. */
  keyHash?: Buffer | undefined
  /** Where the call comes from. */
  address: string | undefined
}

export function assertMetadataFits(metadata: Record<string, unknown>): void {
  if (Buffer.byteLength(JSON.stringify(metadata)) > maxMetadataBytes) {
    throw new ServiceError('invalid_field', {
      field: 'metadata',
      message: `"metadata" is larger than ${maxMetadataBytes} bytes of JSON.`,
    })
  }
}

/** Names the agent among all callers, for limits. */
export function agentKey(agentId: string): string {
  return `agent ${agentId}`
}

export function isAgentKey(key: string): boolean {
  return key.startsWith('agent ')
}
