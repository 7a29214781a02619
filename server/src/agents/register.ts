import { selfRegistered } from '@sallyport/protocol/agents'
import type { AuditWriter } from '../audit/audit-log.ts'
import { addressBlock } from '../platform/limits/client-address.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../platform/database/database.ts'
import { newId } from '../platform/ids.ts'
import { perDay, perMinute, takeFromLimit } from '../platform/limits/rate-limits.ts'
import type { Secret } from '../platform/secret.ts'
import { hashToken, mintToken } from '../platform/tokens.ts'
import { assertMetadataFits } from './agent.ts'
import type { Agent } from './agent.ts'
import type { AgentStore } from './agent-store.ts'

export interface RegisterNeeds {
  config: Pick<Config, 'registrationsPerMinute' | 'registrationsPerDay' | 'registrationsPerDay48'>
  database: Database
  agents: AgentStore
  audit: AuditWriter
  clock: Clock
}

export interface Registration {
  name: string
  ownerUserId: string | undefined
  metadata: Record<string, unknown> | undefined
}

/**
 * Anyone may register (spec v4, Rules 4), so registrations per address are rate limited. Registering grants no access.
 */
export async function registerAgent(
  { config, database, agents, audit, clock }: RegisterNeeds,
  { name, ownerUserId = selfRegistered, metadata = {} }: Registration,
  from: { address: string; requestId: string },
): Promise<{ agent: Agent; accessToken: Secret }> {
  assertMetadataFits(metadata)
  const now = clock()
  const agent: Agent = { agentId: newId('agt', now), name, ownerUserId, metadata, createdAt: now, disabledAt: null }
  const accessToken = mintToken('agent')
  const { narrow, wide } = addressBlock(from.address)
  await database.transaction(async (tx) => {
    await takeFromLimit(tx, `register-minute:${narrow}`, perMinute(config.registrationsPerMinute), now)
    await takeFromLimit(tx, `register-day:${narrow}`, perDay(config.registrationsPerDay), now)
    if (wide) await takeFromLimit(tx, `register-day:${wide}`, perDay(config.registrationsPerDay48), now)
    await agents.insert(tx, agent, hashToken(accessToken))
    await audit.append(tx, {
      event: 'agent.registered',
      at: now,
      requestId: from.requestId,
      agentId: agent.agentId,
    })
  })
  return { agent, accessToken }
}
