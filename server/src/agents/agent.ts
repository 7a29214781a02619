import { maxMetadataBytes } from '@sallyport/protocol/agents'
import { ServiceError } from '../platform/errors.ts'

/** A program that asks for access. Its token says who it is and permits nothing by itself. */
export interface Agent {
  agentId: string
  name: string
  /** The agent's own claim; it carries no authority. */
  ownerUserId: string
  metadata: Record<string, unknown>
  createdAt: Date
  disabledAt: Date | null
}

/** An agent with the token that its call came with: once that is replaced, the call may not go on. */
export interface CallingAgent {
  agent: Agent
  tokenHash: Buffer
}

export function assertMetadataFits(metadata: Record<string, unknown>): void {
  if (Buffer.byteLength(JSON.stringify(metadata)) > maxMetadataBytes) {
    throw new ServiceError('invalid_field', {
      field: 'metadata',
      message: `"metadata" is larger than ${maxMetadataBytes} bytes of JSON.`,
    })
  }
}
