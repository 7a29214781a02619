import type { AuditWriter } from '../audit/audit-log.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { ServiceError } from '../platform/errors.ts'
import type { Agent } from './agent.ts'
import type { AgentStore } from './agent-store.ts'

export interface EnableAgentNeeds {
  database: Database
  agents: AgentStore
  audit: AuditWriter
  clock: Clock
  endToolKeys: (tx: Queries, agentId: string) => Promise<void>
  /** Resolves once every call has ended that disabling at this time ends. */
  callsEnded: (disabledAt: Date) => Promise<void>
}

/** Its token and its grants work again; what disabling ended stays ended. Idempotent. Never undoes a later disabling. */
export async function enableAgent(needs: EnableAgentNeeds, agentId: string, requestId: string): Promise<Agent> {
  const { database, agents, audit, clock, endToolKeys, callsEnded } = needs
  const found = await agents.find(database.queries, agentId)
  if (!found) throw new ServiceError('not_found')
  const { disabledAt } = found
  if (!disabledAt) return found
  await callsEnded(disabledAt)
  return database.transaction(async (tx) => {
    const enabled = await agents.enable(tx, agentId, disabledAt)
    if (enabled) {
      await endToolKeys(tx, agentId)
      await audit.append(tx, { event: 'agent.enabled', at: clock(), requestId, agentId })
    }
    const agent = enabled ?? (await agents.find(tx, agentId))
    if (!agent) throw new ServiceError('not_found')
    if (agent.disabledAt) throw new ServiceError('conflict', { message: 'The agent was disabled again meanwhile.' })
    return agent
  })
}
