import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import { perHour, takeFromLimit } from '../platform/limits/rate-limits.ts'
import type { Secret } from '../platform/secret.ts'
import { hashToken, mintToken } from '../platform/tokens.ts'
import type { Agent } from './agent.ts'
import type { AgentStore } from './agent-store.ts'

export interface RotateTokenNeeds {
  config: Pick<Config, 'tokenRotationsPerHour'>
  database: Database
  agents: AgentStore
  audit: AuditWriter
  clock: Clock
}

/** Of two concurrent calls with the same token, one gets a new token and the other is refused. */
export async function rotateToken(
  { config, database, agents, audit, clock }: RotateTokenNeeds,
  agent: Agent,
  tokenHash: Uint8Array,
  requestId: string,
): Promise<{ agent: Agent; accessToken: Secret }> {
  const accessToken = mintToken('agent')
  const { agentId } = agent
  return database.transaction(async (tx) => {
    const at = clock()
    await takeFromLimit(tx, `rotate-token:${agentId}`, perHour(config.tokenRotationsPerHour), at)
    const rotated = await agents.replaceTokenHash(tx, agentId, tokenHash, hashToken(accessToken))
    if (!rotated) throw new ServiceError('unauthenticated')
    await audit.append(tx, { event: 'agent.token_rotated', at, requestId, agentId })
    return { agent: rotated, accessToken }
  })
}
