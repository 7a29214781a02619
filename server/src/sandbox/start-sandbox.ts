import { echoPath } from '@sallyport/protocol/sandbox'
import type { Agent } from '../agents/agent.ts'
import type { AuditStore } from '../audit/audit-store.ts'
import type { Grant } from '../grants/grant.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../platform/config.ts'
import type { Database } from '../platform/database/database.ts'
import { newId } from '../platform/ids.ts'
import { perHour, takeFromLimit } from '../platform/rate-limits.ts'
import { mintToken } from '../platform/tokens.ts'
import type { SandboxStore } from './sandbox-store.ts'

export interface StartSandboxNeeds {
  config: Pick<Config, 'baseUrl' | 'sandboxSeconds' | 'sandboxStartsPerHour'>
  database: Database
  grants: GrantStore
  sandboxes: SandboxStore
  audit: AuditStore
  clock: Clock
}

/** A grant that needs nobody's approval because it reaches nobody: it covers the echo alone (spec v4, Rules 5). */
export async function startSandbox(needs: StartSandboxNeeds, agent: Agent, requestId: string): Promise<Grant> {
  const { config, database, grants, sandboxes, audit, clock } = needs
  const { agentId } = agent
  const now = clock()
  const grant: Grant = {
    grantId: newId('grt', now),
    agentId,
    kind: 'sandbox',
    userId: null,
    connectionId: null,
    accessRequestId: null,
    allowedHosts: [config.baseUrl.host],
    allowedMethods: null,
    allowedPaths: [echoPath],
    maxCalls: null,
    calls: 0,
    lastUsedAt: null,
    createdAt: now,
    expiresAt: new Date(now.getTime() + config.sandboxSeconds * 1000),
    revokedAt: null,
    revokedBy: null,
    isCutOff: false,
  }
  const { grantId } = grant
  await database.transaction(async (tx) => {
    await takeFromLimit(tx, `sandbox-start:${agentId}`, perHour(config.sandboxStartsPerHour), now)
    await grants.insert(tx, grant, null)
    await sandboxes.put(tx, agentId, grantId, mintToken('sandbox'))
    await grants.revokeOtherSandboxes(tx, agentId, grantId, now)
    await audit.append(tx, { event: 'sandbox.started', at: now, requestId, agentId, grantId })
  })
  return grant
}
