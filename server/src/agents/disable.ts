import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Agent } from './agent.ts'
import type { AgentStore } from './agent-store.ts'

export interface DisableAgentNeeds {
  database: Database
  agents: AgentStore
  audit: AuditWriter
  clock: Clock
}

/** Its token stops working immediately. Idempotent. */
export async function disableAgent(needs: DisableAgentNeeds, agentId: string, requestId: string): Promise<Agent> {
  const { database, agents, audit, clock } = needs
  return database.transaction(async (tx) => {
    const at = clock()
    const disabled = await agents.disable(tx, agentId, at)
    if (disabled) await audit.append(tx, { event: 'agent.disabled', at, requestId, agentId })
    const agent = disabled ?? (await agents.find(tx, agentId))
    if (!agent) throw new ServiceError('not_found')
    return agent
  })
}
