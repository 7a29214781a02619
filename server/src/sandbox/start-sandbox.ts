import { echoPath } from '@sallyport/protocol/sandbox'
import type { Agent } from '../agents/agent.ts'
import type { AuditWriter } from '../audit/audit-log.ts'
import { defaultTerms } from '../grants/grant.ts'
import type { Grant } from '../grants/grant.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import type { Clock } from '../platform/clock.ts'
import type { Config } from '../config/config.ts'
import type { Database, Queries } from '../platform/database/database.ts'
import { newId } from '../platform/ids.ts'
import { perHour, takeFromLimit } from '../platform/limits/rate-limits.ts'
import { mintToken } from '../platform/tokens.ts'
import type { SandboxStore } from './sandbox-store.ts'

export interface StartSandboxNeeds {
  config: Pick<Config, 'baseUrl' | 'sandboxSeconds' | 'sandboxStartsPerHour'>
  database: Database
  grants: GrantStore
  sandboxes: SandboxStore
  audit: AuditWriter
  clock: Clock
}

export function startSandbox(needs: StartSandboxNeeds, { agentId }: Agent, requestId: string): Promise<Grant> {
  const terms = { agentId, accessRequestId: null, methods: null, maxCalls: null }
  return needs.database.transaction((tx) => openSandbox(needs, tx, terms, requestId, needs.clock()))
}

export interface SandboxTerms {
  agentId: string
  /** The access request that it was created for. */
  accessRequestId: string | null
  methods: string[] | null
  maxCalls: number | null
}

/** Creates a grant that needs no approval because it covers only the echo (spec v4, Rules 5). */
export async function openSandbox(
  { config, grants, sandboxes, audit }: Pick<StartSandboxNeeds, 'config' | 'grants' | 'sandboxes' | 'audit'>,
  tx: Queries,
  { agentId, accessRequestId, methods, maxCalls }: SandboxTerms,
  requestId: string,
  now: Date,
): Promise<Grant> {
  const grant: Grant = {
    grantId: newId('grt', now),
    agentId,
    kind: 'sandbox',
    userId: null,
    connectionId: null,
    accessRequestId,
    allowedHosts: [config.baseUrl.host],
    allowedMethods: methods,
    allowedPaths: [echoPath],
    maxCalls,
    calls: 0,
    lastUsedAt: null,
    createdAt: now,
    expiresAt: new Date(now.getTime() + config.sandboxSeconds * 1000),
    revokedAt: null,
    revokedBy: null,
    isCutOff: false,
    isPaused: false,
    termsVersion: 1,
    ...defaultTerms,
  }
  const { grantId } = grant
  await takeFromLimit(tx, `sandbox-start:${agentId}`, perHour(config.sandboxStartsPerHour), now)
  await grants.insert(tx, grant, null)
  await sandboxes.put(tx, agentId, grantId, mintToken('sandbox'))
  await grants.revokeOtherSandboxes(tx, agentId, grantId, now)
  await audit.append(tx, { event: 'sandbox.started', at: now, requestId, agentId, grantId })
  return grant
}
